"""Questions of many kinds, made of topics and forms. Those that are held out are others."""

from __future__ import annotations

import itertools
import random

TOPICS = (
    "the sea|volcanoes|bread|bicycles|the moon|honey bees|chess|paper|glass|rain|gravity|trees|"
    "the heart|sleep|tea|the steam engine|maps|music|the alphabet|money|salt|wolves|the desert|"
    "bridges|clocks|photography|the eye|earthquakes|rice|ships|whales|the printing press|light|"
    "mountains|football|vaccines|rivers|radio|cheese|the pyramids|penguins|electricity|gardens|"
    "dinosaurs|coffee|the internet|ice|birds|castles|batteries|memory|the sun|cotton|robots|snow|"
    "trains|painting|soap|languages|stars|dogs|democracy|sugar|islands|magnets|theatre|forests|"
    "computers|horses|teeth|kites|the calendar|spices|wind power|swimming|cats|poetry|iron|"
    "farming|lighthouses|mathematics|fire|submarines|the brain|chocolate|running|deserts|elephants|"
    "the telephone|shoes|insects|air|the violin|apples|cities|friendship|clouds|weather|school"
).split("|")
FORMS = (
    "Explain {} to a child.|Write a short story about {}.|List five facts about {}.|"
    "What is the history of {}?|Write a poem about {}.|Why is {} important?|"
    "Write an email to a friend about {}.|Give me advice on how to learn more about {}.|"
    "What are the advantages and disadvantages of {}?|Summarize what you know about {}.|"
    "Write a dialogue between two people who talk about {}.|How does {} work?|"
    "Write an introduction for an essay about {}.|Make a plan for a lesson about {}.|"
    "What would happen without {}?|Describe {} in three sentences."
).split("|")
TASKS = (
    "reverses a string|sorts a list of numbers|counts the words of a text|finds the largest number|"
    "checks whether a number is prime|reads a file line by line|removes duplicates from a list|"
    "computes the average of a list|converts Celsius to Fahrenheit|merges two dictionaries|"
    "finds the longest word|computes Fibonacci numbers|checks whether a word is a palindrome|"
    "multiplies two matrices|counts the vowels of a word|writes a list to a CSV file|"
    "parses a date|flattens a nested list|computes a power|prints a multiplication table|"
    "implements a stack|implements a queue|searches a sorted list|generates a password|"
    "validates an email address|rolls two dice|counts the days between two dates"
).split("|")
CODE = (
    "Write a Python function that {}.|Show me a program in Python that {}, and explain it."
).split("|")
HELD_OUT = (
    "How do I cook a good soup?|Tell me about the city of Paris.|What makes a good teacher?|"
    "Write a Python function that computes the factorial of a number.|Compare trains and planes.|"
    "What is photosynthesis?|Write a letter of complaint about a broken lamp.|"
    "How can I save energy at home?|Give three tips for a job interview.|"
    "Write a Python class for a bank account.|Why do people travel?|What is a black hole?|"
    "Translate 'good morning' into French and Spanish.|Write a short biography of Marie Curie.|"
    "How do I plant tomatoes?|Explain how a refrigerator cools."
).split("|")


def training(count: int, seed: int = 1) -> list[str]:
    texts = [form.format(topic) for form, topic in itertools.product(FORMS, TOPICS)]
    texts += 3 * [form.format(task) for form, task in itertools.product(CODE, TASKS)]
    random.Random(seed).shuffle(texts)
    return texts[:count]
