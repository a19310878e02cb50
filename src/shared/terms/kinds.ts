/**
 * The kinds of call, as data: everything that only differs by a number, a list or a yes is a column here. A new kind is
 * a row and a file for each layer (CONTRIBUTING.md#adding-a-kind-of-call). Pure: imports nothing.
 */

const MEGABYTE = 1024 * 1024

/** A kind of call. */
export type Kind = {
  /** The deadline of a whole call where its model names none, in seconds. */
  deadlineSeconds: number
  /** How many calls a worker process works on at once; the default of `RERANK_CONCURRENCY` and the like. */
  concurrency: number
  /**
   * How many queue workers share that concurrency. A BullMQ worker fetches one job at a time, each a round trip:
   * short calls would wait longer for that than for their upstream (docs/performance.md). Each holds a connection.
   */
  queueWorkers: number
  /** Lock and stall times in ms: how soon a killed worker's job runs again (docs/architecture.md#queues). */
  lockMs: number
  stalledMs: number
  /** How many calls may wait for a worker. Beyond it, more waiting helps nobody. */
  maxQueued: number
  /** Whether a call whose request an upstream may have had is never sent again: a second picture is a second bill. */
  isSentOnce: boolean
  /** Whether answers are relayed while they are made, so that a reader may have some of a running call. */
  isRelayed: boolean
  /** Whether the stored output has a `usage` of its own, to which credits and balance are added. */
  hasUsage: boolean
  /**
   * An upstream's answer to one request, in bytes: the longest (of chats the default of MAX_ANSWER_BYTES), and about
   * how long one is that does not state its length; null of what is passed on as it comes.
   */
  answer: { maxBytes: number; expectedBytes: number | null }
  /** The operation in OpenTelemetry's conventions for generative AI. */
  operation: string
  /** Where it is called, the usual path first. */
  paths: readonly [string, ...string[]]
  /** What calls take and give in every model, in the names of OpenRouter's list. */
  modalities: { input: readonly string[]; output: readonly string[] }
  /** What its calls are called in the console. */
  plural: string
}

/** What most kinds have: a row lists what it has instead. */
const USUAL = {
  deadlineSeconds: 300,
  concurrency: 50,
  queueWorkers: 1,
  lockMs: 5000,
  stalledMs: 2500,
  maxQueued: 20_000,
  isSentOnce: true,
  isRelayed: false,
  hasUsage: false,
  operation: 'generate_content',
}

const ROWS = {
  chat: {
    ...USUAL,
    concurrency: 100,
    queueWorkers: 4,
    isSentOnce: false,
    isRelayed: true,
    hasUsage: true,
    answer: { maxBytes: 4 * MEGABYTE, expectedBytes: MEGABYTE },
    operation: 'chat',
    paths: ['/v1/chat/completions', '/v1/messages', '/v1/responses'],
    modalities: { input: ['text', 'image'], output: ['text'] },
    plural: 'Chats',
  },
  image: {
    ...USUAL,
    deadlineSeconds: 600,
    concurrency: 20,
    maxQueued: 10_000,
    answer: { maxBytes: 96 * MEGABYTE, expectedBytes: 24 * MEGABYTE },
    paths: ['/v1/images/generations', '/v1/images/edits'],
    modalities: { input: ['text', 'image'], output: ['image'] },
    plural: 'Images',
  },
  video: {
    ...USUAL,
    deadlineSeconds: 3600,
    lockMs: 10_000,
    stalledMs: 5000,
    answer: { maxBytes: MEGABYTE, expectedBytes: MEGABYTE },
    paths: ['/v1/videos/generations', '/v1/videos'],
    modalities: { input: ['text', 'image'], output: ['video'] },
    plural: 'Videos',
  },
  embedding: {
    ...USUAL,
    concurrency: 10,
    hasUsage: true,
    answer: { maxBytes: 96 * MEGABYTE, expectedBytes: 8 * MEGABYTE },
    operation: 'embeddings',
    paths: ['/v1/embeddings'],
    modalities: { input: ['text'], output: ['embeddings'] },
    plural: 'Embeddings',
  },
  moderation: {
    ...USUAL,
    answer: { maxBytes: 40 * MEGABYTE, expectedBytes: 4 * MEGABYTE },
    operation: 'moderation',
    paths: ['/v1/moderations'],
    modalities: { input: ['text', 'image'], output: ['text'] },
    plural: 'Moderations',
  },
  rerank: {
    ...USUAL,
    hasUsage: true,
    // Some upstreams repeat the documents that they rank.
    answer: { maxBytes: 40 * MEGABYTE, expectedBytes: 4 * MEGABYTE },
    operation: 'rerank',
    paths: ['/v1/rerank'],
    modalities: { input: ['text'], output: ['rerank'] },
    plural: 'Rankings',
  },
  speech: {
    ...USUAL,
    concurrency: 20,
    maxQueued: 10_000,
    isRelayed: true,
    answer: { maxBytes: 128 * MEGABYTE, expectedBytes: null },
    paths: ['/v1/audio/speech'],
    modalities: { input: ['text'], output: ['audio'] },
    plural: 'Speech',
  },
  transcription: {
    ...USUAL,
    deadlineSeconds: 600,
    concurrency: 20,
    maxQueued: 10_000,
    hasUsage: true,
    answer: { maxBytes: 16 * MEGABYTE, expectedBytes: 4 * MEGABYTE },
    paths: ['/v1/audio/transcriptions', '/v1/audio/translations'],
    modalities: { input: ['audio'], output: ['text'] },
    plural: 'Transcriptions',
  },
} as const satisfies Record<string, Kind>

/** What a model makes. One queue each. */
export type Modality = keyof typeof ROWS

/** The kinds of call. */
export const KINDS: Readonly<Record<Modality, Kind>> = ROWS

/** What a model makes, in the order of every list. */
export const MODALITIES = Object.keys(KINDS) as Modality[]

/** Whether this is a kind of call. */
export const isModality = (value: unknown): value is Modality => MODALITIES.some((modality) => modality === value)

/** Something of each kind. */
export const mapKinds = <T>(valueOf: (kind: Kind, modality: Modality) => T): Record<Modality, T> =>
  Object.fromEntries(MODALITIES.map((name) => [name, valueOf(KINDS[name], name)])) as Record<Modality, T>

/** What is not a call has its concurrency in the configuration. */
const OTHER = { concurrency: undefined, queueWorkers: 1, lockMs: 30_000, stalledMs: 10_000 }

/** The queues: one for each kind of call, and for mail, payments, webhooks and the reconciler. */
export const QUEUES = {
  ...KINDS,
  mail: OTHER,
  payments: OTHER,
  webhooks: OTHER,
  maintenance: { ...OTHER, lockMs: 10_000, stalledMs: 5000 },
}

/** A queue that a worker can take. */
export type QueueName = keyof typeof QUEUES

/** The queues that a worker can take. */
export const QUEUE_NAMES = Object.keys(QUEUES) as QueueName[]
