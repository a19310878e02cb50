/**
 * Gemini's signatures of its thoughts: a model refuses a conversation in which its calls come back without them, and
 * one with those of another account. They leave sealed for the route and the account.
 */
import type { Reasoning } from '../../../shared/chat/canonical.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import type { Seal } from '../../../shared/chat/seal.ts'
import { isText } from '../../../shared/platform/fields.ts'

/** What stands for the signature of a call that no Gemini has made: Google's docs, "Thought signatures". */
export const SKIPPED = 'skip_thought_signature_validator'

/** Models that ask for no signatures: those before Gemini 3. */
const WITHOUT = /gemini-[12]\b|gemma/i

/** Whether a model refuses calls without a signature. */
export const needsSignatures = (model: string): boolean => !WITHOUT.test(model)

/** Whose signatures are opened: those that this route made, for its model. */
export type Signing = Pick<Route, 'model'> & Pick<Seal, 'open'>

/** A signature as clients get it; empty where nothing is sealed. */
export const sealedSignature = (signature: string, seal: Seal['seal']): string => seal({ signature })

/** A signature that this route has sealed; null for any other. */
export function opened(sealed: unknown, open: Seal['open']): string | null {
  const signature = isText(sealed) ? open(sealed)?.signature : null
  return isText(signature) ? signature : null
}

/** The signature that a thought stands for; null for none, and for that of another route. */
export const openedSignature = ({ sealed }: Reasoning, { open }: Signing): string | null => opened(sealed, open)
