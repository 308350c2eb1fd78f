"""Make a tiny model, tokenizer and data set: all that a real AutoModel recipe needs, without a hub.

usage: make_tiny.py DIRECTORY

A Llama of 2 layers (139,584 parameters) with random weights, a byte-level BPE of 500 tokens, and 512 questions whose
answers hold a sum and a repetition. The same files each time; a directory that is there already is left as it is.
"""

import json
import logging
import os
import random
import sys
from pathlib import Path

WORDS = [
    "red",
    "green",
    "blue",
    "seven",
    "eight",
    "nine",
    "cat",
    "dog",
    "bird",
    "stone",
    "river",
    "cloud",
    "adds",
    "takes",
    "gives",
]
ROWS, TRAINING = 512, 448


def rows():
    chance = random.Random(0)
    for _ in range(ROWS):
        a, b = chance.randint(0, 99), chance.randint(0, 99)
        words = " ".join(chance.choices(WORDS, k=6))
        yield {"question": f"What is {a} plus {b} and repeat: {words}?", "answer": f"{a + b}. {words}"}


def write_jsonl(path, part):
    path.write_text("".join(json.dumps(row) + "\n" for row in part))


def tokenizer(data):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    bpe = Tokenizer(models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=[*special.values()], initial_alphabet=sorted(alphabet), show_progress=False
    )
    bpe.train_from_iterator((f"{row['question']}\n{row['answer']}" for row in data), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, **special)


def model():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config)


def make(directory):
    part = directory.with_name(f"{directory.name}.{os.getpid()}")
    part.mkdir(parents=True)
    data = list(rows())
    write_jsonl(part / "train.jsonl", data[:TRAINING])
    write_jsonl(part / "val.jsonl", data[TRAINING:])
    model().save_pretrained(part / "model")
    tokenizer(data).save_pretrained(part / "model")
    part.rename(directory)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1", TOKENIZERS_PARALLELISM="false", TQDM_DISABLE="1")
    logging.disable(logging.WARNING)  # transformers loads torchao, which speaks of CUDA libraries that a CPU does not need
    target = Path(sys.argv[1])
    if not target.exists():
        make(target)
    print(f"{target}: a Llama of 139,584 parameters and {TRAINING} questions with answers to train it on")
