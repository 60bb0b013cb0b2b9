# SPDX-License-Identifier: Apache-2.0
"""tokenizers: an extension module in Rust; a model that is trained, and texts in its words."""
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import BpeTrainer

USES = ["tokenizers"]


def texts(count):
    return [" ".join(f"word{number * step % 7919}" for step in range(40)) for number in range(count)]


def trained(lines):
    tokenizer = Tokenizer(BPE(unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.train_from_iterator(lines, BpeTrainer(vocab_size=4000, special_tokens=["?"], show_progress=False))
    return tokenizer


def encoded(tokenizer, lines):
    return [tokenizer.encode(line) for line in lines]


lines = texts(3_000)
tokenizer = trained(lines)
held = encoded(tokenizer, lines)
print({"texts": None, "encoded": None})
