/** The quick tests that must find most of the bugs. */
export const SCHEDULES = 'test/crash/schedules.test.ts'
export const CUTS = 'test/crash/cuts.test.ts'
export const MOMENTS = 'test/crash/failpoints.test.ts'
export const VERBS = 'test/shared/calls/verbs.test.ts'
export const DEDUCTIONS = 'test/shared/ledger/deductions.test.ts'
export const DEBTS = 'test/shared/calls/debts.test.ts'
export const BATCHES = 'test/shared/calls/batches.test.ts'
export const BUDGETS = 'test/shared/calls/budgets.test.ts'
export const TOKENS = 'test/shared/calls/token-limits.test.ts'
export const TOKENS_OF_CALLS = 'test/api/v1/token-limits.test.ts'
export const MEMBER_BUDGETS = 'test/shared/calls/member-budgets.test.ts'
export const MEMBERS = 'test/api/v1/members.test.ts'
export const ORGANISATIONS = 'test/api/console/organisations.test.ts'
export const LATE_REQUESTS = 'test/api/console/late-requests.test.ts'
export const ROLES_TABLE = 'test/api/console/roles.test.ts'
export const PAYMENTS = 'test/shared/payments/payments.test.ts'
export const PAYMENT_SCHEDULES = 'test/crash/payments.test.ts'
export const PRICING = 'test/shared/requests/pricing.test.ts'
export const ARITHMETIC = 'test/shared/calls/price-arithmetic.test.ts'
export const GUARDS = 'test/api/v1/calls/price-guards.test.ts'
export const PRECHARGE = 'test/upstreams/precharge.test.ts'
export const SPEECH = 'test/api/v1/audio/speech.test.ts'
export const TRANSCRIPTIONS = 'test/api/v1/audio/transcriptions.test.ts'
export const FORMS = 'test/api/forms/read-form.test.ts'
export const LENGTHS_OF_SOUND = 'test/shared/sound/measure.test.ts'
export const EMBEDDINGS = 'test/api/v1/embeddings.test.ts'
export const INPUT_OF_EMBEDDINGS = 'test/shared/requests/embeddings.test.ts'
export const ADAPTER_OF_EMBEDDINGS = 'test/workers/upstreams/embeddings.test.ts'
export const MODERATIONS = 'test/api/v1/moderations.test.ts'
export const RERANK = 'test/api/v1/rerank.test.ts'
export const REQUEST_OF_RERANK = 'test/shared/requests/rerank.test.ts'
export const ADAPTER_OF_RERANK = 'test/workers/upstreams/rerank.test.ts'
export const VIDEOS = 'test/api/v1/videos.test.ts'
export const VIDEO_FIELDS = 'test/api/v1/video-fields.test.ts'
export const DELETED_VIDEOS = 'test/api/v1/deleted-videos.test.ts'
export const UPLOADED_PICTURES = 'test/api/v1/videos-sdk.test.ts'
export const VIDEO_ROWS = 'test/shared/calls/videos.test.ts'
export const ENDS = 'test/shared/calls/chat-settlement.test.ts'
export const KILLED = 'test/upstreams/killed.test.ts'
export const PLACES = 'test/workers/fair-places.test.ts'
export const LEFT_STREAMS = 'test/upstreams/left-streams.test.ts'
export const CHUNKS = 'test/workers/calls/chunk-relay.test.ts'
export const VERSIONS = 'test/shared/catalogue/versions.test.ts'
export const OWN_VARIABLES = 'test/shared/platform/config/config.test.ts'
export const VERSION_OF_CALL = 'test/workers/calls/catalogue.test.ts'
export const BEGIN = 'test/workers/calls/begin.test.ts'
export const ENQUEUED = 'test/shared/queues.test.ts'
export const CUT_CHATS = 'test/upstreams/cut-chats.test.ts'
export const RETRIES = 'test/shared/calls/numbered-retries.test.ts'
export const EXPIRY = 'test/shared/calls/expiry.test.ts'
export const KEY_LIMITS = 'test/shared/calls/key-limits.test.ts'
export const KEY_LOOKUP = 'test/shared/accounts/key-lookup.test.ts'
export const SHARES = 'test/workers/fair-places.test.ts'
export const MESSAGES = 'test/api/v1/messages.test.ts'
export const MESSAGE_HOLDS = 'test/upstreams/messages-precharge.test.ts'
export const MESSAGE_ESTIMATE = 'test/shared/dialects/messages/estimate.test.ts'
export const PASSED_MESSAGES = 'test/workers/upstreams/anthropic/pass.test.ts'
export const MESSAGE_MONEY = 'test/api/v1/messages-money.test.ts'
export const HOSTILE_MESSAGES = 'test/api/v1/hostile-messages.test.ts'
export const GROUPS = 'test/api/v1/groups.test.ts'
export const GROUPS_OF_CATALOGUE = 'test/shared/catalogue/groups.test.ts'
export const GROUP_OF_CHARGE = 'test/shared/calls/groups.test.ts'
export const MARGINS = 'test/shared/catalogue/margins.test.ts'
export const IMAGES = 'test/api/v1/images.test.ts'
export const IMAGE_EDITS = 'test/api/v1/image-edits.test.ts'
export const PICTURE_PRICES = 'test/shared/requests/picture-prices.test.ts'
export const RELAYED = 'test/api/v1/calls/relayed-stream.test.ts'
export const EVENTS = 'test/shared/webhooks/events.test.ts'
export const OPERATORS_EVENTS = 'test/shared/webhooks/operators-events.test.ts'
export const SECRETS = 'test/shared/webhooks/secrets.test.ts'
export const DELIVERIES = 'test/workers/webhooks/processor.test.ts'
export const TRIES = 'test/workers/webhooks/schedule.test.ts'
export const HEALTH = 'test/workers/upstreams/circuits.test.ts'

/** The tests that must pass where no bug is planted. */
export const KILLING_TESTS = [
  SCHEDULES,
  VERBS,
  DEBTS,
  DEDUCTIONS,
  BATCHES,
  EXPIRY,
  KEY_LIMITS,
  KEY_LOOKUP,
  BUDGETS,
  TOKENS,
  TOKENS_OF_CALLS,
  MOMENTS,
  PRICING,
  ARITHMETIC,
  GUARDS,
  PRECHARGE,
  ENDS,
  BEGIN,
  ENQUEUED,
  CUT_CHATS,
  KILLED,
  LEFT_STREAMS,
  PLACES,
  CHUNKS,
  RETRIES,
  VERSIONS,
  OWN_VARIABLES,
  VERSION_OF_CALL,
  PAYMENTS,
  PAYMENT_SCHEDULES,
  SHARES,
  MESSAGES,
  MESSAGE_HOLDS,
  MESSAGE_ESTIMATE,
  PASSED_MESSAGES,
  MESSAGE_MONEY,
  HOSTILE_MESSAGES,
  RELAYED,
  GROUPS,
  GROUPS_OF_CATALOGUE,
  GROUP_OF_CHARGE,
  MARGINS,
  EMBEDDINGS,
  INPUT_OF_EMBEDDINGS,
  ADAPTER_OF_EMBEDDINGS,
  MODERATIONS,
  RERANK,
  REQUEST_OF_RERANK,
  ADAPTER_OF_RERANK,
  EVENTS,
  OPERATORS_EVENTS,
  SECRETS,
  DELIVERIES,
  TRIES,
  HEALTH,
  IMAGES,
  IMAGE_EDITS,
  PICTURE_PRICES,
]
