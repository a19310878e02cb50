/**
 * POST /v1beta/models/{model}:generateContent and :streamGenerateContent, also below /v1: chats in the dialect of
 * Google's Gemini API.
 */
import { z } from 'zod'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { checkGemini } from '../../../shared/chat/gemini/check.ts'
import { estimateGemini } from '../../../shared/chat/gemini/estimate.ts'
import { geminiBody } from '../../../shared/chat/gemini/fields.ts'
import { requireCarried } from '../../../shared/chat/protocols.ts'
import { events } from '../../endpoint/answer-schemas.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { CallKind } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { answerWithFrames } from '../calls/streamed-answer.ts'
import type { AskedChat } from '../chat/agent-chat.ts'
import { agentAnswers, agentChat, clampedChat } from '../chat/agent-chat.ts'
import { geminiObjects, geminiResult } from './answers.ts'
import type { Prefix } from './declared.ts'
import { geminiHeaders, modelInPath, ofGemini, withModel } from './declared.ts'

const parse: CallKind<ChatModel, AskedChat>['parse'] = (body, model, _headers, text) => {
  const { request, ...more } = checkGemini(body, model)
  requireCarried(model.routes, request, 'gemini')
  return { ...more, ...clampedChat(request, estimateGemini(request, model, text), model) }
}

/** What is a whole answer's own of a call. */
export const geminiKind: CallKind<ChatModel, AskedChat> = {
  modality: 'chat',
  dialect: 'gemini',
  named: withModel,
  parse,
  answer: (ctx, deps, placed) => answerWhenDone(ctx, deps, placed),
}

/** The same of a stream. */
const streamKind: CallKind<ChatModel, AskedChat> = {
  ...geminiKind,
  named: (body, params) => ({ ...withModel(body, params), stream: true }),
  answer: (ctx, deps, placed, { request, updates }) =>
    request.stream
      ? answerWithFrames(ctx, deps, placed, { updates, frames: geminiObjects(ctx.query.alt === 'sse') })
      : answerWhenDone(ctx, deps, placed),
}

const declared = {
  ...agentChat,
  ...ofGemini,
  headers: geminiHeaders,
  params: modelInPath,
  body: geminiBody.omit({ model: true, stream: true }).meta({ id: 'GenerateContentRequest' }),
} as const

const answers = agentAnswers('answer', geminiResult, 'Gemini API')
const [{ content: _content, ...whole }, accepted] = [answers[200], answers[202]]

/** Answers a request. Charged on an estimate of its tokens, settled on the real usage. */
export const generateContent = (prefix: Prefix) =>
  callEndpoint(
    {
      ...declared,
      path: `${prefix}/models/*model\\:generateContent`,
      summary: "Answer contents, in the form of Google's Gemini API",
      description:
        "Google's Gemini API over every chat model. An estimate is charged first, with `maxOutputTokens` lowered to " +
        'what can be paid, and settled on the real usage at the end. Tools that an upstream would run are left out, ' +
        'and named by `X-Tollgate-Tools-Dropped`.',
      answers: { 200: whole, 202: accepted },
    },
    geminiKind,
  )

/** Streams an answer to a request. */
export const streamGenerateContent = (prefix: Prefix) =>
  callEndpoint(
    {
      ...declared,
      path: `${prefix}/models/*model\\:streamGenerateContent`,
      summary: "Stream an answer, in the form of Google's Gemini API",
      description: 'The last object has the usage. A failure after the first object is an object with an `error`.',
      query: z.object({
        alt: z.string().optional().meta({ description: '`sse`: as server-sent events; else as a list of objects.' }),
      }),
      answers: {
        200: {
          ...whole,
          description: 'The objects of the answer.',
          schema: z.union([z.array(z.looseObject({})), geminiResult]),
          content: { 'text/event-stream': events('With `alt=sse`: an object in each event.') },
        },
        202: accepted,
      },
    },
    streamKind,
  )
