/**
 * Passkeys of this browser: it asks its user, and signs what the server has sent.
 */
import { t } from '../language/language.ts'
import { Problem } from '../api/client.ts'
import type { Asked, Answered } from '../api/declared.ts'

type OptionsToAdd = Answered<'POST /api/auth/passkeys/options'>['options']
type OptionsToUse = Answered<'POST /api/auth/passkey/options'>['options']
type MadePasskey = Asked<'POST /api/auth/passkeys'>['body']['response']
type UsedPasskey = Asked<'POST /api/auth/passkey'>['body']['response']

/** Whether this browser has passkeys for this host: none has any for an IP address. */
export const hasPasskeys = (): boolean =>
  'PublicKeyCredential' in window &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential &&
  !/^[\d.]+$|:/.test(location.hostname)

/** Makes a passkey. @throws Problem if the user or the browser refuses. */
export const makePasskey = (options: OptionsToAdd): Promise<MadePasskey> =>
  signed(async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
    return navigator.credentials.create({ publicKey })
  })

/** Uses a passkey. @throws as `makePasskey`. */
export const usePasskey = (options: OptionsToUse): Promise<UsedPasskey> =>
  signed(async () => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never)
    return navigator.credentials.get({ publicKey })
  })

async function signed<T>(work: () => Promise<Credential | null>): Promise<T> {
  const credential = await work().catch(refused)
  return (credential as PublicKeyCredential).toJSON() as T
}

/** Browsers hide why: which passkeys there are is nobody's business. */
function refused(thrown: unknown): never {
  const isKnown = thrown instanceof DOMException && thrown.name === 'InvalidStateError'
  throw new Problem(
    isKnown ? 'conflict' : 'invalid_credentials',
    isKnown ? t.entrance.hasPasskey : t.entrance.noPasskey,
  )
}
