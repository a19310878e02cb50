/** What a request for a ranking asks for, and how many searches it is paid as. Pure. */
import { BYTES_PER_TOKEN } from '../terms/pricing.ts'

/** Documents to be ranked by a query. `return_documents`: whether the answer repeats them; upstreams never do. */
export type RerankRequest = {
  query: string
  documents: string[]
  top_n?: number
  max_tokens_per_doc?: number
  return_documents: boolean
}

/** The most documents of a request. */
export const MAX_DOCUMENTS = 10_000

/** The documents of one search. */
const DOCUMENTS_A_SEARCH = 100

/** The tokens of a document, with the query, that count as one document if the model does not state it. */
const USUAL_DOCUMENT_TOKENS = 4096

/** What surrounds a query and its document, in tokens. */
const AROUND_TOKENS = 16

type Counted = Pick<RerankRequest, 'query' | 'documents'>

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)

/**
 * The searches that a request is paid as: one for up to 100 documents, and one for each further hundred. Every document
 * is read together with the query; one that has more than `documentTokens` with it counts as several, since that is how
 * upstreams bill it.
 */
export function searchesOf({ query, documents }: Counted, documentTokens = USUAL_DOCUMENT_TOKENS): number {
  const asked = tokensOf(query)
  const counted = documents.reduce((sum, text) => sum + Math.ceil((asked + tokensOf(text)) / documentTokens), 0)
  return Math.ceil(counted / DOCUMENTS_A_SEARCH)
}

/** The tokens that are read: every document with the query, a token for three bytes. */
export function estimatedTokens({ query, documents }: Counted): number {
  const asked = tokensOf(query)
  return documents.reduce((sum, text) => sum + asked + tokensOf(text), 0)
}

/** The most tokens that can be read: one a byte, and what surrounds them. */
export const mostTokens = (request: Counted): number =>
  BYTES_PER_TOKEN * estimatedTokens(request) + AROUND_TOKENS * request.documents.length

/** How many places the answer has. */
export const placesOf = ({ documents, top_n: most = Infinity }: Pick<RerankRequest, 'documents' | 'top_n'>): number =>
  Math.min(documents.length, most)
