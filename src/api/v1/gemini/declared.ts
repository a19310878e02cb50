/** What the endpoints of Gemini's API have in common. */
import { z } from 'zod'
import { apiKey } from '../../endpoint/auth.ts'
import type { Auth } from '../../endpoint/declaration.ts'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { JsonObject } from '../../middleware/json-body.ts'
import { callRequestHeaders } from '../declared.ts'

/** The paths that clients put in front: Google's newer SDKs the shorter one, its command line the other. */
export const PREFIXES = ['/v1beta', '/v1'] as const

/** A path in front of all others. */
export type Prefix = (typeof PREFIXES)[number]

/** The holder of an API key, as Google's clients send it. */
export const googleKey: Auth<Principal> = { ...apiKey, scheme: 'googleKey' }

/** Of every endpoint. */
export const ofGemini = { tag: 'Models and calls', envelope: 'gemini', auth: googleKey } as const

/** The parameter of a path. */
export const modelInPath = z.object({ model: z.string().meta({ description: 'The id of the model.' }) })

/** The headers of a request that places a call. */
export const geminiHeaders = callRequestHeaders.extend({
  'x-goog-api-client': z.string().optional().meta({ description: 'Ignored.' }),
})

/** A body with the model of its path. */
export const withModel = (body: JsonObject, { model }: Readonly<Record<string, string>>): JsonObject => ({
  ...body,
  model,
})
