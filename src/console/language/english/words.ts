import type { Modality as Kind } from '../../../shared/terms/kinds.ts'

/** Words for numbers, times, prices, statuses and kinds, which all pages have in common. */
export const words = {
  justNow: 'just now',
  credits: (number: string, isOne: boolean) => `${number} ${isOne ? 'credit' : 'credits'}`,
  minutes: (minutes: number, seconds: number) => `${minutes} min ${seconds} s`,
  price: {
    search: (price: string) => `${price} a search`,
    characters: (price: string) => `${price} per 1M characters`,
    cached: (price: string) => ` · ${price} cached`,
    output: (price: string) => ` · ${price} out`,
    call: (price: string) => ` · ${price} a call`,
    tokens: (input: string, others: string, call: string) => `${input} in${others} per 1M tokens${call}`,
    second: (price: string) => `${price} per second`,
    from: (price: string) => `from ${price}`,
    each: (price: string, kind: Kind) => `${price} per ${kind}`,
  },
  kinds: {
    chat: 'Chat',
    image: 'Image',
    video: 'Video',
    embedding: 'Embedding',
    moderation: 'Moderation',
    rerank: 'Rerank',
    speech: 'Speech',
    transcription: 'Transcription',
  },
  /** What is counted: one, and several. */
  nouns: {
    call: ['call', 'calls'],
    unknownCall: ['unknown call', 'unknown calls'],
    event: ['event', 'events'],
    payment: ['payment', 'payments'],
    deadMail: ['undelivered e-mail', 'undelivered e-mails'],
  },
  anyKind: 'Any kind',
  statuses: {
    queued: 'Queued',
    running: 'Running',
    succeeded: 'Succeeded',
    failed: 'Failed',
    rejected: 'Refused',
  },
  entries: {
    grant: 'Credits received',
    charge: 'Charged',
    settlement: 'Settled',
    refund: 'Refunded',
    expiry: 'Expired',
    adjustment: 'Deducted',
    collection: 'Debt repaid',
    reversal: 'Taken back',
    reinstatement: 'Given back',
  },
  origins: {
    signup: 'Sign-up',
    purchase: 'Purchase',
    bonus: 'Bonus',
    adjustment: 'Adjustment',
  },
}
