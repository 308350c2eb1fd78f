"""What a job's log and checkpoint directory say, and one poller for all jobs. Nothing here needs the job's process."""
