"""From a config to text: the training command, the SBATCH script, the SkyPilot task. Pure functions."""
