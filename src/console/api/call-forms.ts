/**
 * What is asked of the gateway: the fields of each kind of call, and where it is asked.
 */
import { mapKinds } from '../../shared/terms/kinds.ts'
import type { Dialect } from '../../shared/chat/dialect.ts'

export type { Dialect }

export type ChatMessage = { role: 'system' | 'user' | 'assistant'; content: string }
/** A chat, as chat completions have it. */
export type ChatFields = { model: string; messages: ChatMessage[]; max_tokens?: number; temperature?: number }
export type MediaFields = {
  model: string
  prompt: string
  image_url?: string
  resolution?: string
  duration?: number
  n?: number
  size?: string
  quality?: string
}

/** Embeddings and moderations. */
export type InputFields = { model: string; input: string }
export type RerankFields = { model: string; query: string; documents: string[] }

export type SpeechFields = { model: string; voice: string; input: string }

/** A form: `file` is a path on the machine of the caller. */
export type TranscriptionFields = { model: string; file: string }

/** The APIs of chats, by the names that their makers gave them. */
export const DIALECT_WORDS: Readonly<Record<Dialect, string>> = {
  chat: 'Chat Completions',
  messages: 'Messages',
  responses: 'Responses',
  gemini: 'Gemini',
}

/** The endpoint of each kind of call; of chats, that of each API. */
export const PATHS = {
  ...mapKinds(({ paths }) => paths[0]),
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models',
}

/** The kinds of call that the playground makes. */
export const PLAYED = ['chat', 'image', 'video'] as const
