/** What is used here of the package, which has no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Grant {
    constructor(fields: { clientId: string; accountId: string })
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }

  export type Context = {
    oidc: { client: { clientId: string }; session: { accountId: string }; provider: Provider }
  }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: typeof Grant
    proxy: boolean
    callback(): (request: IncomingMessage, response: ServerResponse) => void
    on(event: string, listener: (...values: never[]) => void): this
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
