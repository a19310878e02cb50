import type { Protocol, Route } from '../exchange.ts'

/** A route that fits a request, and the parameters of the path. */
export interface Match {
  readonly protocol: Protocol
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

interface Pattern {
  readonly protocol: Protocol
  readonly route: Route
  readonly regex: RegExp
}

const NO_PARAMS = {}

/** Finds the route of a request. Paths without parameters, which are the busy ones, cost one look-up. */
export class Router {
  private readonly exact = new Map<string, Match>()
  private readonly patterns: Pattern[] = []

  constructor(protocols: readonly Protocol[]) {
    for (const protocol of protocols) {
      for (const route of protocol.routes) this.add(protocol, route)
    }
  }

  /** The route for this method (HEAD goes where GET goes) and path. */
  find(method: string, path: string): Match | undefined {
    const asked = method === 'HEAD' ? 'GET' : method
    const exact = this.exact.get(`${asked} ${path}`)
    if (exact) return exact
    for (const { protocol, route, regex } of this.patterns) {
      const found = route.method === asked ? regex.exec(path) : null
      if (found) return { protocol, route, params: { ...found.groups } }
    }
    return undefined
  }

  private add(protocol: Protocol, route: Route): void {
    if (!/[:*]/.test(route.path)) {
      this.exact.set(`${route.method} ${route.path}`, { protocol, route, params: NO_PARAMS })
      return
    }
    const source = route.path.replace(/\/\*$/, '(?:/(?<rest>.*))?').replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')
    this.patterns.push({ protocol, route, regex: new RegExp(`^${source}$`) })
  }
}
