/** The configuration: the one reader of `process.env`, validated at start by one schema (docs/configuration.md). */
import { z } from 'zod'
import {
  httpUrl,
  listenAddress,
  obeySslmode,
  originUrl,
  postgresUrl,
  redisUrl,
  smtpUrl,
  storageUrl,
} from './addresses.ts'
import { nearestName } from './near-names.ts'

const numberBetween = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))

const wholeNumber = (fallback: number, min: number, max: number) => numberBetween(min, max).default(fallback)

/** A part of a whole. */
const share = z
  .string()
  .regex(/^(\d+|\d*\.\d+)$/, 'must be a number such as 0.5')
  .transform(Number)
  .pipe(z.number().gt(0, 'must be above 0').lte(1, 'must be at most 1'))

/**
 * The queues that a worker can serve, and of those of calls how many calls it works on at once where the queue's
 * variable (`RERANK_CONCURRENCY` of `rerank`) is absent.
 */
export type KnownQueues = Readonly<Record<string, { concurrency?: number }>>

type Concurrency<Queue extends string> = `${Uppercase<Queue>}_CONCURRENCY`

const concurrencyName = <Queue extends string>(queue: Queue) =>
  `${queue.toUpperCase()}_CONCURRENCY` as Concurrency<Queue>

/** How many jobs of a queue a worker works on at once. */
export const jobsAtOnce = <Queue extends string>(config: Record<Concurrency<Queue>, number>, queue: Queue): number =>
  config[concurrencyName(queue)]

const queueList = (known: string[]) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean),
    )
    .refine((names) => names.length > 0 && names.every((name) => known.includes(name)), {
      message: `must be a comma-separated list of ${known.join(', ')}`,
    })
    .default(known)

/** The variables of the queues. */
const queueVariables = (queues: KnownQueues) => ({
  WORKER_QUEUES: queueList(Object.keys(queues)),
  ...Object.fromEntries(
    Object.entries(queues).flatMap(([name, { concurrency }]) =>
      concurrency === undefined ? [] : [[concurrencyName(name), wholeNumber(concurrency, 1, 100_000)]],
    ),
  ),
})

const stripeSecret = z.string({ error: 'is required with PAYMENTS=stripe' })
const stripeKey = stripeSecret.regex(/^[\w-]+$/, 'must be a key of Stripe')

const variables = z.object({
  PORT: wholeNumber(3000, 0, 65535),
  HOST: listenAddress.optional(),
  BASE_URL: originUrl.optional(),
  DATABASE_URL: postgresUrl,
  DATABASE_SSL: z.enum(['off', 'require', 'verify']).default('off'),
  DATABASE_POOL: wholeNumber(10, 2, 500),
  REDIS_URL: redisUrl,
  REDIS_TLS_VERIFY: z.enum(['on', 'off']).default('on'),
  REDIS_PREFIX: z.string().min(1).max(60).default('tollgate'),
  MODELS_FILE: z.string().min(1).default('models.json'),
  SMTP_URL: smtpUrl.optional(),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*$/, { message: 'must be one line', abort: true })
    .regex(/^([^<>@\s]+@[^<>@\s]+|[^<>]*<[^<>@\s]+@[^<>@\s]+>)\s*$/, 'must be an address, or a name and <address>')
    .default('Tollgate <no-reply@localhost>'),
  MAIL_FILE: z.string().min(1).default('.data/mail.jsonl'),
  SIGNUP_CREDITS: wholeNumber(0, 0, 1_000_000_000),
  SIGNUP_CREDITS_AT: z.enum(['verification', 'registration']).default('verification'),
  MAX_ANSWER_BYTES: wholeNumber(4_194_304, 1, 268_435_456),
  GATEWAY_RATE_LIMIT: wholeNumber(60, 1, 1_000_000_000),
  LOGIN_RATE_LIMIT: wholeNumber(30, 1, 1_000_000_000),
  REGISTER_RATE_LIMIT: wholeNumber(300, 1, 1_000_000_000),
  MAIL_RATE_LIMIT: wholeNumber(5, 1, 1_000_000_000),
  MAX_BODY_BYTES: wholeNumber(1_048_576, 1024, 33_554_432),
  MAX_DIALECT_BODY_BYTES: wholeNumber(33_554_432, 1024, 33_554_432),
  MIN_OUTPUT_TOKENS: wholeNumber(4096, 1, 100_000_000),
  MAX_OUTSTANDING_CALLS: wholeNumber(1000, 1, 1_000_000),
  ACCOUNT_SHARE: share.default(0.5),
  TRUST_PROXY: wholeNumber(0, 0, 16),
  LONG_CALL_REPLY: z.enum(['wait', 'heartbeat', 'accepted']).default('wait'),
  LONG_CALL_AFTER_SECONDS: wholeNumber(20, 1, 3600),
  APP_SECRET: z.string({ error: 'is required' }).min(32, 'must have at least 32 characters'),
  APP_SECRET_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  SIGNIN_PROVIDERS: z.string().min(1).optional(),
  PASSWORDS: z.enum(['on', 'off']).default('on'),
  SECOND_FACTOR: z.enum(['optional', 'operators', 'all']).default('optional'),
  MAIL_CONCURRENCY: wholeNumber(5, 1, 1000),
  PAYMENTS_CONCURRENCY: wholeNumber(5, 1, 1000),
  WEBHOOKS_CONCURRENCY: wholeNumber(50, 1, 1000),
  WEBHOOK_ALLOW_PRIVATE: z.enum(['on', 'off']).default('off'),
  STORAGE_URL: storageUrl.default('file:.data/media'),
  S3_ENDPOINT: httpUrl.optional(),
  MEDIA_TTL_DAYS: wholeNumber(30, 1, 36_500),
  RESULT_TTL_SECONDS: wholeNumber(86_400, 1, 31_536_000),
  CALL_RETENTION_DAYS: numberBetween(1, 36_500).optional(),
  DASHBOARD_PASSWORD: z.string().min(1).optional(),
  DASHBOARD_WRITE: z.enum(['on', 'off']).default('off'),
  METRICS_TOKEN: z.string().min(1).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_METRICS_EXPORTER: z.enum(['otlp', 'none']).default('otlp'),
  HEALTH_PORT: numberBetween(0, 65535).optional(),
  DRAIN_SECONDS: wholeNumber(5, 0, 20),
  NODE_ENV: z.string().optional(),
  PAYMENTS: z.enum(['stripe'], { error: 'must be stripe' }).optional(),
  STRIPE_SECRET_KEY: stripeKey.optional(),
  STRIPE_WEBHOOK_SECRET: z.string().optional(),
  STRIPE_API_BASE: httpUrl.optional(),
  PUBLIC_CATALOGUE: z.enum(['on', 'off']).default('off'),
  OPERATOR_NAME: z
    .string()
    .max(60)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line')
    .default('Tollgate'),
  OPERATOR_LOGO_URL: httpUrl.optional(),
  CREDITS_HELP_URL: z
    .string()
    .max(500)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line')
    .optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  LOG_UPSTREAM_TEXT: z.enum(['on', 'off']).default('off'),
})

/** With a provider, its secrets must be there: an empty one would let anybody sign events. */
const variablesWithPayments = variables.extend({
  STRIPE_SECRET_KEY: stripeKey,
  STRIPE_WEBHOOK_SECRET: stripeSecret.regex(/^\S+$/, 'must have no spaces'),
})

const variablesFor = ({ PAYMENTS }: NodeJS.ProcessEnv, queues: KnownQueues) =>
  (PAYMENTS === 'stripe' ? variablesWithPayments : variables).extend(queueVariables(queues))

/** The names of all variables. */
const namesFor = (queues: KnownQueues): string[] => [
  ...Object.keys(variables.shape),
  ...Object.keys(queueVariables(queues)),
]

/** Everything an operator can set, parsed; names as in the environment, units as in docs/configuration.md. */
export type Config = Omit<z.infer<typeof variables>, 'BASE_URL'> & {
  BASE_URL: string
  WORKER_QUEUES: string[]
  /**
   * The rest of the environment, for the catalogue's `apiKeyEnv` only: nothing else reads a variable by name. Never one
   * that `isOwnVariable` knows, no matter what an old version of the catalogue names.
   */
  secretOf: (variable: string) => string | undefined
}

/** The configuration of a process that knows these queues: that, and a variable of each queue of calls. */
export type ConfigWith<Queues extends KnownQueues> = Config & {
  [Name in keyof Queues & string as Queues[Name] extends { concurrency: number } ? Concurrency<Name> : never]: number
}

/** A configuration that cannot be used; its message names every offending variable. */
export class ConfigError extends Error {}

/** The exit code of a process that was configured wrongly (sysexits.h EX_CONFIG). */
export const EXIT_CONFIG = 78

/**
 * Parses the environment. An empty value counts as absent, as platforms set them, and white space around a value is
 * removed: a line end that was pasted with a secret fits into no header.
 * @throws ConfigError that names every offending variable (never its value: it may be a secret).
 */
export function readConfig<Queues extends KnownQueues>(
  queues: Queues,
  environment: NodeJS.ProcessEnv = process.env,
): ConfigWith<Queues> {
  const config = parse(variablesFor(environment, queues), environment)
  return Object.freeze({
    ...config,
    ...readAddress(environment),
    secretOf: secretsOf(queues, environment),
  }) as ConfigWith<Queues>
}

/** Reads the keys of upstreams, by the variables that a catalogue names; none that is read otherwise. */
export const secretsOf =
  (queues: KnownQueues, environment: NodeJS.ProcessEnv = process.env): Config['secretOf'] =>
  (variable) =>
    isOwnVariable(variable, queues) ? undefined : environment[variable]?.trim() || undefined

/** What the admin command needs to ask the payment provider. @throws ConfigError as `readConfig`. */
export const readPaymentsConfig = (environment: NodeJS.ProcessEnv = process.env): PaymentsConfig =>
  parse<typeof paymentVariables>(
    environment.PAYMENTS === 'stripe' ? variablesWithPayments.pick(PAYMENT_VARIABLES) : paymentVariables,
    environment,
  )

const PAYMENT_VARIABLES = {
  PAYMENTS: true,
  STRIPE_SECRET_KEY: true,
  STRIPE_WEBHOOK_SECRET: true,
  STRIPE_API_BASE: true,
} as const
const paymentVariables = variables.pick(PAYMENT_VARIABLES)

/** Which provider takes payments, and how it is asked; none without PAYMENTS. */
export type PaymentsConfig = z.infer<typeof paymentVariables>

const databaseVariables = variables.pick({ DATABASE_URL: true, DATABASE_SSL: true, DATABASE_POOL: true })

/** What the admin command needs: Postgres alone. @throws ConfigError as `readConfig`. */
export const readDatabaseConfig = (environment: NodeJS.ProcessEnv = process.env): z.infer<typeof databaseVariables> =>
  parse(databaseVariables, environment)

const releaseVariables = databaseVariables.extend({ MODELS_FILE: variables.shape.MODELS_FILE })

/** What the release phase needs: Postgres, and the catalogue's file. @throws ConfigError as `readConfig`. */
export const readReleaseConfig = (environment: NodeJS.ProcessEnv = process.env): z.infer<typeof releaseVariables> =>
  parse(releaseVariables, environment)

const redisVariables = variables
  .pick({ REDIS_TLS_VERIFY: true, REDIS_PREFIX: true })
  .extend({ REDIS_URL: variables.shape.REDIS_URL.optional() })

/**
 * How to reach the running processes from a command, which does its work without Redis too: REDIS_URL may be absent.
 * @throws ConfigError as `readConfig`.
 */
export const readRedisConfig = (environment: NodeJS.ProcessEnv = process.env): z.infer<typeof redisVariables> =>
  parse(redisVariables, environment)

const webhookVariables = variables.pick({ APP_SECRET: true, APP_SECRET_PREVIOUS: true, WEBHOOK_ALLOW_PRIVATE: true })

/** What the admin command needs to make secrets of webhooks. @throws ConfigError as `readConfig`. */
export const readWebhookConfig = (environment: NodeJS.ProcessEnv = process.env): z.infer<typeof webhookVariables> =>
  parse(webhookVariables, environment)

const addressVariables = variables.pick({ BASE_URL: true, PORT: true })

/** The public address, for links that a command prints. @throws ConfigError as `readConfig`. */
export function readAddress(environment: NodeJS.ProcessEnv = process.env): Pick<Config, 'BASE_URL'> {
  const { BASE_URL, PORT } = parse(addressVariables, environment)
  return { BASE_URL: BASE_URL ?? `http://localhost:${PORT}` }
}

const usualLimits = variables.pick({ GATEWAY_RATE_LIMIT: true, MAX_OUTSTANDING_CALLS: true })

/** The limits of accounts that have no other ones. @throws ConfigError as `readConfig`. */
export const readUsualLimits = (environment: NodeJS.ProcessEnv = process.env): z.infer<typeof usualLimits> =>
  parse(usualLimits, environment)

function parse<S extends z.ZodType>(schema: S | z.ZodType<z.infer<S>>, environment: NodeJS.ProcessEnv): z.infer<S> {
  const trimmed = Object.entries(environment).map(([name, value]) => [name, value?.trim()] as const)
  const present = Object.fromEntries(trimmed.filter(([, value]) => value !== ''))
  const obeyed = obeySslmode(present)
  const parsed = schema.safeParse(obeyed.environment)
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join('.')} ${issue.message}`),
    ...(obeyed.problem === undefined ? [] : [obeyed.problem]),
  ]
  if (parsed.success && problems.length === 0) return parsed.data
  throw new ConfigError(`The configuration is not valid: ${problems.join('; ')}.`)
}

/** Names that only the scripts of the repository read. */
const NAMES_OF_SCRIPTS = ['TOLLGATE_DATA']

/** Variables that the libraries, Node, the shell and hosting platforms read or set, in upper case. */
const VARIABLES_OF_OTHERS = new RegExp(
  [
    '^(AWS|S3|STRIPE|PG|POSTGRES|POSTGRESQL|DATABASE|SMTP|MAIL)_',
    '^(REDIS|MYSQL)',
    'PASSWORD$',
    '^(NODE|NPM|UV|V8|OTEL|LD|DYLD|SSL|TLS|OPENSSL)_',
    '^(PG[A-Z]+|DYNO|HEROKU_.+|KUBERNETES_.+|TOLLGATE_.+)$',
    '^(HTTPS?|FTP|ALL|NO|GLOBAL_AGENT_.*)_PROXY$',
    '^(PATH|HOME|HOMEPATH|USERPROFILE|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|HOSTNAME|LANG|TERM|TZ|TMPDIR|TEMP|TMP)$',
    '^(DEBUG|CI)$',
    // Addresses of databases and the like, with their passwords, under any name that a platform gives them.
    '_(URL|URI|DSN)$',
  ].join('|'),
)

/**
 * Whether Tollgate or what it runs on reads this variable: then the catalogue may not name it as an upstream's key,
 * which would hand its value to the upstream. A new variable of the schema above is covered by itself.
 */
export const isOwnVariable = (name: string, queues: KnownQueues): boolean =>
  namesFor(queues).includes(name.toUpperCase()) || VARIABLES_OF_OTHERS.test(name.toUpperCase())

/** Hosts that nobody else reaches. */
const LOCAL_HOST = /^(localhost|.*\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/

/** Whether a host is this machine. */
export const isLocalHost = (hostname: string): boolean => LOCAL_HOST.test(hostname)

/** Whether others cannot reach the public address. */
export const isLocal = ({ BASE_URL }: Pick<Config, 'BASE_URL'>): boolean => isLocalHost(new URL(BASE_URL).hostname)

/**
 * Warnings about a configuration that can be used, one sentence each: variables that nothing reads
 * and that resemble ours; and in production (NODE_ENV) mails that reach nobody, and links that lead nowhere.
 */
export function configWarnings(
  config: Pick<Config, 'BASE_URL' | 'SMTP_URL' | 'NODE_ENV'>,
  queues: KnownQueues,
  environment: NodeJS.ProcessEnv = process.env,
): string[] {
  const known = [...namesFor(queues), ...NAMES_OF_SCRIPTS]
  const mistyped = Object.keys(environment).flatMap((name) => {
    const meant = nearestName(name, known)
    return meant === null ? [] : [`The variable ${name} is unknown and has no effect. Did you mean ${meant}?`]
  })
  if (config.NODE_ENV !== 'production') return mistyped
  return [
    ...mistyped,
    ...(config.SMTP_URL === undefined
      ? ['SMTP_URL is not set: mails are only written to MAIL_FILE, and reach nobody.']
      : []),
    ...(isLocal(config)
      ? ['BASE_URL is local: links in mails and the addresses of results lead nowhere for others.']
      : []),
  ]
}
