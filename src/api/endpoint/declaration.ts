/**
 * What an endpoint declares: method, path, auth, limits, input, answers and errors. What checks a request, the OpenAPI
 * document and the types of the console's client are all derived from it.
 */
import type { Context, Middleware, ParameterizedContext } from 'koa'
import type { z } from 'zod'
import type { MemberRole } from '../../shared/identity/members.ts'
import type { Device } from '../../shared/identity/sessions.ts'
import type { Config } from '../../shared/platform/config/config.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import type { Language } from '../../shared/terms/languages.ts'
import type { Trace } from '../../shared/platform/process/trace.ts'
import type { WebDeps } from '../deps.ts'
import type { LimitUse } from './rate-limits.ts'
import type { DeclaredForm } from '../forms/declared-form.ts'
import { longestForm } from '../forms/declared-form.ts'
import type { Views } from '../operator/recorded-views.ts'
import { MAX_BODY_BYTES } from '../middleware/json-body.ts'
import type { Envelope, Forms, RequestState } from '../middleware/request-context.ts'

/** The groups of the document. */
type Tag =
  | 'Models and calls'
  | 'Account'
  | 'Mail'
  | 'API keys'
  | 'Organisations'
  | 'Records'
  | 'Billing'
  | 'Webhooks'
  | 'Operators'
  | 'Service'

/** Who may use an endpoint, and how they are found. */
export type Auth<Holder> = {
  /** How they are identified. */
  scheme: 'apiKey' | 'googleKey' | 'sessionToken' | 'metricsToken'
  /** The codes that everybody else is refused with. */
  errors: readonly ErrorCode[]
  /** Of a user who is logged in: the roles that may, for the account that they act for; every one if absent. */
  roles?: readonly MemberRole[]
  /** They see what is not their own: their endpoints declare `views`. */
  sees?: 'others'
  /** Finds who sends a request. @throws ApiError one of `errors`. */
  find: (deps: WebDeps) => (ctx: ParameterizedContext<RequestState>) => Promise<Holder>
}

/** An answer that is not an error. `content` maps media types to schemas, or to null for bytes; JSON is `schema`. */
export type DeclaredAnswer = {
  description: string
  schema?: z.ZodType
  content?: Readonly<Record<string, z.ZodType | null>>
  headers?: z.ZodObject
}

/** Everything about an endpoint but its handler. What is checked is checked in this order. */
export type Declaration = {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Parameters as `:name`, one that may have slashes as `*name`. */
  path: `/${string}`
  tag: Tag
  summary: string
  /** More than the summary, in Markdown. */
  description?: string
  /** `console` if absent. */
  envelope?: Envelope
  /** The other forms in which it answers. Their queries are for the document: the handler reads them by itself. */
  forms?: Forms
  /** Whether the endpoint is there at all; always if absent. */
  offered?: (config: Config) => boolean
  /** null: everybody. */
  auth: Auth<unknown> | null
  /** Which data of accounts it shows; required of endpoints of operators. */
  views?: Views
  /** What a request counts against. */
  limits?: readonly LimitUse[]
  /** The parameters of the path. What does not parse leads to nothing: `not_found`. */
  params?: z.ZodObject
  query?: z.ZodObject
  /** Headers of the request, for the document alone: a handler that obeys one reads it by itself. */
  headers?: z.ZodObject
  /** `ignored`: nothing is asked for, but a body that is sent must be a JSON object. */
  body?: z.ZodType | 'ignored'
  /** Present where the body is a form, whose texts and files `body` checks: of endpoints that place calls. */
  form?: DeclaredForm
  /**
   * The longest JSON body in bytes, if it is not what `auth` implies: 1 MB with a login or a key, 16 kB without. The
   * longest form follows from its files.
   */
  bodyBytes?: (config: Config) => number
  /** The body may be absent, which is the same as an empty object. */
  bodyIsOptional?: boolean
  /** By their status. */
  answers: { readonly [status: number]: DeclaredAnswer }
  /** The codes that its handler answers with, and its fields where they have codes of their own; none if absent. */
  errors?: readonly ErrorCode[]
}

/** What a declaration must state besides its type: an operator's endpoint, what it shows of accounts. */
export type Complete<D extends Declaration> = D['auth'] extends { sees: 'others' } ? { views: Views } : unknown

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined

type HolderOf<D extends Declaration> = D['auth'] extends Auth<infer Holder> ? Holder : null

/** What a handler may know of a request besides its fields. */
export type RequestFacts = Trace & {
  /** From where it was sent. */
  device: () => Device
  /** What the client asks for by Accept-Language. */
  language: () => Language
  /** The names of its body's fields, of those too that nothing reads. */
  sentFields: () => string[]
  /** The secret of the browser's cookie; empty without one. */
  browser: () => string
  /** The same, of a cookie that the answer sets if there is none yet, and renews. */
  bindBrowser: () => string
}

/** What a handler is given: only what was declared, checked and typed. */
type Input<D extends Declaration> = {
  auth: HolderOf<D>
  params: Parsed<D['params']>
  query: Parsed<D['query']>
  body: Parsed<D['body']>
  request: RequestFacts
}

/** An answer of another status than 200. */
export class Reply<Status extends number = number, Body = unknown> {
  readonly status: Status
  readonly body: Body

  constructor(status: Status, body: Body) {
    this.status = status
    this.body = body
  }
}

type BodyOf<Answer> = Answer extends { schema: infer S extends z.ZodType } ? z.input<S> : never

type Replies<Answers> = {
  [Status in keyof Answers]: Status extends number ? Reply<Status, BodyOf<Answers[Status]>> : never
}[keyof Answers]

/** What a handler may answer: the body of 200 as it is, every other declared answer as a `Reply`. */
type AnswerOf<D extends Declaration> = BodyOf<D['answers'][200]> | Replies<Omit<D['answers'], 200>>

/** An endpoint of any declaration. */
export type Endpoint = Declaration & {
  /** Every code that it can answer with. */
  codes: ReadonlySet<ErrorCode>
  /** Makes what serves it, once a process. */
  serve: (deps: WebDeps) => Middleware<RequestState>
}

/** A handler whose answer is JSON. */
export type Handler<D extends Declaration> = (input: Input<D>) => AnswerOf<D> | Promise<AnswerOf<D>>

/** A handler that writes its answer by itself: a stream, a file, bytes that are stored. */
export type Writer<D extends Declaration> = (
  input: Input<D>,
  ctx: Context & { state: RequestState },
) => void | Promise<void>

/** What may be wrong with any body, and with JSON. */
const BODY_ERRORS = ['payload_too_large', 'unsupported_media_type'] as const satisfies ErrorCode[]
const JSON_ERRORS = ['invalid_json', ...BODY_ERRORS] as const satisfies ErrorCode[]

/** What can happen to every request that looks something up, and to every answer (`error-handler.ts`). */
const SERVICE_ERRORS = ['internal_error', 'service_unavailable', 'overloaded'] as const satisfies ErrorCode[]

/** A declaration with the codes that it implies. */
export const servedOf = <const D extends Declaration>(declaration: D) => ({
  ...declaration,
  codes: codesOf(declaration),
})

/** The longest body of an endpoint that is not a form, in bytes. */
export const longestBody = ({ bodyBytes, auth }: Declaration, config: Config): number =>
  bodyBytes?.(config) ?? MAX_BODY_BYTES[auth === null ? 'anybody' : 'known']

/** The longest body and the longest form that any of these endpoints takes, in bytes: all bounds admit them. */
export const longestOf = (endpoints: readonly Declaration[], config: Config): { body: number; form: number } => ({
  body: Math.max(...endpoints.map((one) => longestBody(one, config))),
  form: Math.max(0, ...endpoints.flatMap(({ form }) => (form ? longestForm(form) : []))),
})

/** The codes that a declaration states, and those that its holder, its limits, its fields and its body bring along. */
function codesOf(declaration: Declaration): ReadonlySet<ErrorCode> {
  const { auth, limits = [], params, query, forms = {}, body, form, errors = [] } = declaration
  return new Set<ErrorCode>([
    ...(auth?.errors ?? []),
    ...(body ? (form && !form.orJson ? BODY_ERRORS : JSON_ERRORS) : []),
    ...(params ? ['not_found' as const] : []),
    ...(query || Object.values(forms).some((one) => one.query) ? ['invalid_request' as const] : []),
    ...errors,
    ...(limits.length > 0 ? ['rate_limited' as const] : []),
    ...(auth || body ? SERVICE_ERRORS : []),
  ])
}
