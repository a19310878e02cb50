/**
 * Media results, health and metrics, as the document tells them.
 */
import { z } from 'zod'
import { alive, readiness } from '../answers.ts'
import type { Operation } from './operation.ts'

const service = { tag: 'Service', method: 'get', auth: null } as const

export const serviceOperations: Operation[] = [
  {
    ...service,
    path: '/media/:name',
    summary: 'Fetch an image or a video',
    description: 'The address of a result, as calls answer it. Whoever has it may read: its name cannot be guessed.',
    params: z.object({ name: z.string().meta({ description: 'The unguessable name.' }) }),
    answers: {
      200: { description: 'The file.', content: { 'image/*': null, 'video/*': null } },
      206: { description: 'A part of it (`Range`).', content: { 'image/*': null, 'video/*': null } },
      302: { description: 'It is in a bucket: `Location` is a signed address for a short time.' },
      304: { description: 'Not changed since.' },
      416: { description: 'The file has no such part.' },
    },
    errors: ['not_found', 'service_unavailable'],
  },
  {
    ...service,
    path: '/healthz',
    summary: 'Whether the process is alive',
    answers: { 200: { description: 'It is.', schema: alive } },
    errors: [],
  },
  {
    ...service,
    path: '/readyz',
    summary: 'Whether calls could be served',
    answers: {
      200: { description: 'They could.', schema: readiness },
      503: { description: '`down` names what is missing.', schema: readiness },
    },
    errors: [],
  },
  {
    ...service,
    auth: 'metrics',
    path: '/metrics',
    summary: 'Metrics for Prometheus',
    description: 'Only if the operator has set `METRICS_TOKEN`; 404 otherwise.',
    answers: {
      200: { description: 'The metrics of this process, and those that all share.', content: { 'text/plain': null } },
    },
    errors: ['not_found'],
  },
]
