/**
 * One declaration per endpoint: everything about it is in one place, next to its handler.
 */
import type { Complete, Declaration, Handler, Writer } from './declaration.ts'
import { servedOf } from './declaration.ts'
import type { WebDeps } from '../deps.ts'
import type { AnyHandler } from './serve.ts'
import { serveDeclared } from './serve.ts'

/**
 * Declares an endpoint. Its handler comes next: `handle` for one whose answer is JSON, `write` for one that writes its
 * answer by itself. Both take a function that gets the dependencies which the type of its parameter names, and returns
 * the handler.
 */
export function endpoint<const D extends Declaration>(declaration: D & Complete<D>) {
  const declared = servedOf<D>(declaration)
  const complete = (make: (deps: WebDeps) => unknown, writes: boolean) => ({
    ...declared,
    serve: (deps: WebDeps) => serveDeclared(declared, make(deps) as AnyHandler, deps, { writes }),
  })
  return {
    handle: (make: (deps: WebDeps) => Handler<D>) => complete(make, false),
    write: (make: (deps: WebDeps) => Writer<D>) => complete(make, true),
  }
}
