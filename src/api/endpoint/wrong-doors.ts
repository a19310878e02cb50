/**
 * The hint for clients with a base URL that is nearly right, or with another API. One sentence on what this gateway
 * speaks and what to set, because a 404 alone makes people search for a wrong model name.
 */

const SPEAKS =
  "This gateway speaks OpenAI's chat completions (POST /v1/chat/completions) and Responses, and Anthropic's messages"

/** What it has of Gemini's API. */
const OF_GEMINIS_API =
  `${SPEAKS}; of Gemini's API generateContent, streamGenerateContent, countTokens, embedContent and ` +
  'batchEmbedContents, below /v1beta/models/{model}: set its address without a path as the base URL.'

const MAKES = 'images, videos, embeddings, moderations, rankings, speech and transcriptions'
const COMPATIBLE = 'configure it as an OpenAI-compatible provider whose base URL ends with /v1'

/** A verb behind the id of a model: no path of ours, although ids may have a colon. */
const OF_GEMINI = /:(stream)?(generate|embed|batchEmbed|count|predict)\w*$|^\/v1beta\d?(\/|$)|^\/projects\//i

/** Paths of other APIs, from which `/v1` is cut, and what to do. The first that fits counts. */
const DOORS: readonly [path: RegExp, sentence: string][] = [
  [
    /^\/responses\/compact$/,
    'This gateway compacts no conversations: send the whole input, or ask for a summary by POST /v1/responses.',
  ],
  [/^\/complete(\/|$)/, `${SPEAKS}, not Anthropic's older API: send POST /v1/messages.`],
  [OF_GEMINI, OF_GEMINIS_API],
  [
    /^\/api\/(chat|generate|tags|show|ps|version|pull|embed|embeddings|copy|delete|create)$/,
    `${SPEAKS}, not Ollama's API: ${COMPATIBLE}.`,
  ],
  [/^\/openai\/deployments\//, `${SPEAKS}, not Azure's paths with deployments: ${COMPATIBLE}.`],
  [/^\/model\/.+\/(invoke|converse)/, `${SPEAKS}, not Bedrock's API: ${COMPATIBLE}.`],
  [/^\/(v2\/)?(chat|generate|generate_stream)$/, `${SPEAKS}: ${COMPATIBLE}.`],
  [/^\/(fim\/)?completions$|^\/(engines|edits)(\/|$)/, `${SPEAKS}, not completions of a text: send messages instead.`],
  [
    /^\/(realtime|assistants|threads|files|uploads|batches|vector_stores|fine_tuning|evals|conversations)(\/|$)/,
    `This gateway has no such API. ${SPEAKS}, ${MAKES}.`,
  ],
  [
    /^\/(containers|skills|chatkit|audio|images\/variations|credits|auth)(\/|$)/,
    `This gateway has no such API. ${SPEAKS}, ${MAKES}.`,
  ],
]

/**
 * The hint for a client that asks for an unknown path; null if the path resembles nothing known.
 * @param isServed whether the gateway has something at a path
 */
export function doorHint(path: string, isServed: (path: string) => boolean): string | null {
  const meant = meantBy(path)
  if (meant !== path && isServed(meant) && !OF_GEMINI.test(path)) {
    return `The base URL of this gateway ends with /v1, once and without a slash: send this to ${meant}.`
  }
  const bare = meant.replace(/^\/v1(?=\/)/, '')
  return DOORS.find(([door]) => door.test(path) || door.test(bare))?.[1] ?? null
}

/** Longer paths are not checked. */
const MAX_PATH = 300

/** The path below `/v1` that a base URL was nearly right for: without a version or with two, with slashes too many. */
function meantBy(path: string): string {
  if (path.length > MAX_PATH) return path
  const bare = path
    .replace(/\/{2,}/g, '/')
    .replace(/(?<=.)\/$/, '')
    .replace(/^\/(api|openai)(?=\/v1\/)/i, '')
    .replace(/^(\/v1)+(?=\/|$)/i, '')
    // Cohere's.
    .replace(/^\/v2(?=\/rerank$)/i, '')
  // The base URL was a whole address, to which the client has added its path once more.
  const twice = /^(\/chat\/completions|\/images\/generations|\/videos\/generations)(\/v1)?(\/.+)$/.exec(bare)
  return `/v1${twice ? twice[3] : bare}`
}
