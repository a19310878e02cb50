/** The console API of signing in at providers. */
import type { Answered, Asked, RowOf } from './declared.ts'
import { ask } from './declared.ts'
import { removal } from './client.ts'

/** How people can sign in here. */
export type Providers = Answered<'GET /api/auth/providers'>
/** What follows when the browser is back from a provider. */
export type Follows = Answered<'POST /api/auth/sign-in/finish'>
/** An account at a provider that is connected. */
export type Identity = RowOf<'GET /api/identities'>

export const getProviders = () => ask('GET /api/auth/providers')
export const finishSignIn = () => ask('POST /api/auth/sign-in/finish')
export const askForSignInMail = (email: string) => ask('POST /api/auth/sign-in/email', { body: { email } })
export const signInByMail = (token: string) => ask('POST /api/auth/sign-in/mail', { body: { token } })
export const getIdentities = () => ask('GET /api/identities')
export const beginLink = (id: string) => ask('POST /api/identities/:id', { params: { id } })
export const removeIdentity = (id: string) => removal(ask('DELETE /api/identities/:id', { params: { id } }))
export const renamePasskey = (id: string, body: Asked<'PATCH /api/auth/passkeys/:id'>['body']) =>
  ask('PATCH /api/auth/passkeys/:id', { params: { id }, body })
