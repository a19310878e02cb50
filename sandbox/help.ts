import { QUIRKS, isOf } from './chat/quirks.ts'
import { WORDS } from './steering.ts'
import type { Group, Word } from './steering.ts'
import { CONTROL_NAMES } from './stripe/controls.ts'

const GROUPS: Readonly<Record<Group, string>> = {
  refusal: 'The request is refused; nothing is billed (but a failed task)',
  answer: 'The work is done and billed; its answer is late, damaged or lost',
  usage: 'What is reported of the work',
  chat: 'Chats',
  task: 'Tasks (videos; images of fal and replicate)',
  media: 'Images and videos',
}

const BASES = `Protocols, by base address:
  openai      /v1                  anthropic   /anthropic
  fal         /fal                 replicate   /replicate/v1
  openrouter  /openrouter/api/v1   gemini      /gemini
  stripe      / (keys are sk_test_NAME or sk_live_NAME, an account for each NAME)
Any made-up key is accepted; one with "bad" in it is not, one with "empty" has no credit, one with "limited-N" is 429
after N requests in ten seconds. Caches (anthropic) are warm for the key that wrote them. A model with "refusing" in its
name always answers 503; one with "reasoning" takes no max_tokens and no temperature; one with "haiku" (anthropic) is an
older one: at most 64000 tokens, no adaptive thinking, no turns of the system. An image model with "url" answers
with an address.
A model of fal and replicate makes videos where its name says so (video, veo, sora, kling, seedance, t2v, i2v, clip).

What it has seen, as JSON (each takes ?prompt=part-of-a-prompt):
  GET /sandbox/billed    what a provider would have billed; DELETE forgets it
  GET /sandbox/journal   the last 1000 requests; DELETE forgets them
  GET /sandbox/open      requests in progress, and how many their clients left
POST /sandbox/release?prompt=part-of-a-prompt lets work go on that [hold] holds.

What happens on the other side of Stripe's API (JSON, with the secret key of the account that is meant):
${CONTROL_NAMES.map((name) => `  ${name}`).join('\n')}`

const USAGE = `Usage: sandbox [--port 4010] [--host 127.0.0.1] [--video-seconds 2] [--image-seconds 0.5]
               [--stripe-file FILE]

A local stand-in for model providers: it speaks their wire protocols, makes real images and videos, bills nobody,
and misbehaves when the prompt asks for it.`

/** What `--help` prints. */
export function commandHelp(): string {
  return `${USAGE}\n\n${steeringHelp()}`
}

/** The protocols and every steering word, from the table that also parses them. */
export function steeringHelp(): string {
  const groups = (Object.keys(GROUPS) as Group[]).map((group) => `${GROUPS[group]}:\n${wordsOf(group).join('\n')}`)
  const title = 'Steering words, anywhere in the prompt (of a chat: in its last user message):'
  const quirks = QUIRKS_BY_FORM.map(([form, names]) => `Names for [quirk NAME], ${form}:\n${quirkLines(names)}`)
  return [BASES, title, ...groups, ...quirks].join('\n\n')
}

const NAMES = Object.keys(QUIRKS)
const QUIRKS_BY_FORM: readonly [form: string, names: string[]][] = [
  ['of streams', NAMES.filter((name) => isOf(name, 'stream') && !isOf(name, 'answer'))],
  ['of whole answers', NAMES.filter((name) => isOf(name, 'answer') && !isOf(name, 'stream'))],
  ['of both', NAMES.filter((name) => isOf(name, 'answer') && isOf(name, 'stream'))],
]

const quirkLines = (names: string[]): string =>
  names.map((name) => `  ${name.padEnd(24)} ${QUIRKS[name]!.meaning}`).join('\n')

function wordsOf(group: Group): string[] {
  const words: readonly Word<unknown>[] = Object.values(WORDS)
  return words.filter((one) => one.group === group).map(({ syntax, meaning }) => `  ${syntax.padEnd(24)} ${meaning}`)
}
