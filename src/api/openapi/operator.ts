/**
 * What operators look at and change, as the document tells it.
 */
import { z } from 'zod'
import { ACTIONS } from '../../shared/operators/actions.ts'
import { accountsQuery, grantBody } from '../operator/accounts.ts'
import { call, callWithLedger, credits, done, grant, id, ok, role, time, user } from './answers.ts'
import type { Operation } from './operation.ts'
import { BODY_ERRORS } from './operation.ts'

const operated = user.extend({ status: z.enum(['active', 'suspended']), role }).meta({ id: 'OperatedAccount' })

const action = z.strictObject({
  id: id('act'), action: z.enum(ACTIONS),
  operatorEmail: z.string().nullable().meta({ description: 'Who; null for the operator\'s command line.' }),
  accountId: id('acc').nullable(), accountEmail: z.string().nullable(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.null()]))
    .meta({ description: 'The rest: amounts in credits, notes, ids.' }),
  createdAt: time,
}).meta({ id: 'OperatorAction' })

const mail = z.strictObject({
  id: id('mail'), kind: z.enum(['verification', 'reset']), recipient: z.string(), status: z.literal('dead'),
  tries: z.int(), note: z.string().nullable().meta({ description: 'Why the last try failed.' }),
  createdAt: time, finishedAt: time.nullable(), nextTryAt: time.nullable(),
}).meta({ id: 'DeadMail' })

const upstream = z.strictObject({
  upstream: z.string(), calls: z.int(), failed: z.int(),
  latencyMs: z.int().nullable().meta({ description: 'The median, in milliseconds.' }), lastCallAt: time,
}).meta({ id: 'UpstreamReport' })

const accountFile = z.strictObject({
  ok, account: operated,
  held: z.int().meta({ description: 'Credits that open calls have taken so far.' }), openCalls: z.int(),
  grants: z.array(grant), calls: z.array(call), actions: z.array(action),
})

const granted = z.strictObject({
  ok, grantId: id('grant'), credits: credits.meta({ description: 'The balance after it.' }),
})

const anyCall = callWithLedger.extend({ account: operated.nullable() })

const listOf = <Row extends z.ZodType>(row: Row) => z.strictObject({ ok, data: z.array(row) })

const idOf = (what: string) => z.object({ id: z.string().meta({ description: `The \`id\` of ${what}.` }) })

const read = { tag: 'Operators', auth: 'session', method: 'get' } as const
const change = { ...read, method: 'post' } as const

/** Every one answers `forbidden` to whoever is no operator. */
export const operatorOperations: Operation[] = [
  {
    ...read, path: '/api/operator/accounts', summary: 'Find accounts', query: accountsQuery,
    answers: { 200: { description: 'At most 50 accounts, the newest first.', schema: listOf(operated) } },
    errors: ['forbidden', 'invalid_request'],
  },
  {
    ...read, path: '/api/operator/accounts/:id', summary: 'Show an account', params: idOf('an account'),
    answers: {
      200: { description: 'The account, its grants, its latest calls, and what operators did.', schema: accountFile },
    },
    errors: ['forbidden', 'not_found'],
  },
  {
    ...change, path: '/api/operator/accounts/:id/grants', summary: 'Grant credits', params: idOf('an account'),
    body: grantBody,
    answers: { 200: { description: 'They are granted.', schema: granted } },
    errors: ['forbidden', 'invalid_request', 'not_found'],
  },
  {
    ...change, path: '/api/operator/accounts/:id/suspend', summary: 'Suspend an account', params: idOf('an account'),
    description: 'Its sessions end and its keys are refused, at once. Not your own.',
    answers: { 200: { description: 'It is suspended.', schema: z.strictObject({ ok, account: operated }) } },
    errors: ['forbidden', 'invalid_request', 'not_found', ...BODY_ERRORS],
  },
  {
    ...change, path: '/api/operator/accounts/:id/activate', summary: 'Activate an account', params: idOf('an account'),
    answers: { 200: { description: 'It is active.', schema: z.strictObject({ ok, account: operated }) } },
    errors: ['forbidden', 'invalid_request', 'not_found', ...BODY_ERRORS],
  },
  {
    ...read, path: '/api/operator/calls/:id', summary: 'Show any call', params: idOf('a call'),
    answers: { 200: { description: 'The call, what it moved, and whose it is.', schema: anyCall } },
    errors: ['forbidden', 'not_found'],
  },
  {
    ...read, path: '/api/operator/mails', summary: 'List the mails that were given up',
    answers: { 200: { description: 'At most 100, newest first.', schema: listOf(mail) } }, errors: ['forbidden'],
  },
  {
    ...change, path: '/api/operator/mails/:id/retry', summary: 'Send a mail again', params: idOf('a mail'),
    description: 'Gives a mail that was given up all its tries again.',
    answers: { 200: { description: 'It is being sent.', schema: done } },
    errors: ['forbidden', 'not_found', ...BODY_ERRORS],
  },
  {
    ...read, path: '/api/operator/upstreams', summary: 'How the upstreams do',
    answers: { 200: { description: 'Those that had calls in the last hour.', schema: listOf(upstream) } },
    errors: ['forbidden'],
  },
  {
    ...read, path: '/api/operator/actions', summary: 'List what operators did',
    answers: { 200: { description: 'At most 100, newest first.', schema: listOf(action) } }, errors: ['forbidden'],
  },
]
