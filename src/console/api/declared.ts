/**
 * The console API as the server declares it: what can be asked, and what is answered. Types alone come from there: no
 * code of the server is in the bundle.
 */
import type { z } from 'zod'
import type { endpoints } from '../../api/routes.ts'
import { send } from './client.ts'
import { withQuery } from './requests.ts'

type Declared = (typeof endpoints)[number]

type NameOf<E> = E extends { method: infer Method extends string; path: infer Path extends string }
  ? `${Uppercase<Method>} ${Path}`
  : never

type Endpoints = { [E in Declared as NameOf<E>]: E }

/** An endpoint by its method and path, as in `GET /api/calls/:id`. */
export type EndpointName = keyof Endpoints

type Part<E, Key extends string> = E extends { [K in Key]: infer S extends z.ZodType }
  ? { [K in Key]: z.input<S> }
  : unknown

/** A query can be left out where none of its fields is required. */
type QueryPart<E> =
  Part<E, 'query'> extends { query: infer Q } ? (object extends Q ? { query?: Q } : { query: Q }) : unknown

/** What an endpoint is asked with: the parameters of its path, its query and its body, as far as it has them. */
export type Asked<Name extends EndpointName> = Part<Endpoints[Name], 'params'> &
  QueryPart<Endpoints[Name]> &
  Part<Endpoints[Name], 'body'>

/** What an endpoint answers, where it succeeds. */
export type Answered<Name extends EndpointName> = Endpoints[Name] extends {
  answers: { 200: { schema: infer S extends z.ZodType } }
}
  ? WithoutOk<z.output<S>>
  : never

/** Of each of several possible answers. */
type WithoutOk<Answer> = Answer extends unknown ? Omit<Answer, 'ok'> : never

/** The rows of an endpoint that answers with a list. */
export type RowOf<Name extends EndpointName> = Answered<Name> extends { data: (infer Row)[] } ? Row : never

type Texts = Record<string, string>
type Fields = { params?: Texts; query?: Partial<Texts>; body?: Record<string, unknown> }

/** Asks an endpoint. @throws Problem */
export function ask<Name extends EndpointName>(
  name: Name,
  ...[fields = {} as Asked<Name>]: object extends Asked<Name> ? [Asked<Name>?] : [Asked<Name>]
): Promise<Answered<Name>> {
  const { params = {}, query = {}, body } = fields as Fields
  const [method, pattern] = name.split(' ') as [string, string]
  const path = pattern.replaceAll(/:(\w+)/g, (_match, parameter: string) => encodeURIComponent(params[parameter]!))
  return send(method, withQuery(path, query), body)
}
