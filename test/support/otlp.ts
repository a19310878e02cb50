import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

type Value = { stringValue?: string; intValue?: number; doubleValue?: number; boolValue?: boolean }
type Attributes = { key: string; value: Value }[]
/** A span as OTLP's JSON has it. */
export type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Attributes
  status: { code: number }
}
type Point = { attributes: Attributes; asDouble?: number; count?: number; bucketCounts?: number[] }
type Metric = { name: string; sum?: { dataPoints: Point[] }; histogram?: { dataPoints: Point[] } }

/** What an OTLP/HTTP endpoint received, as JSON. */
export class Receiver {
  readonly bodies: string[] = []
  readonly spans: (Span & { service: string })[] = []
  readonly metrics: (Metric & { service: string })[] = []
  private readonly server: Server

  constructor(status = 200) {
    this.server = createServer((request, response) => {
      void buffer(request).then((bytes) => {
        this.take(bytes.toString())
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
      })
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  close(): void {
    this.server.close()
  }

  private take(body: string): void {
    this.bodies.push(body)
    const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(body)
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        this.spans.push(...spans.map((span: Span) => ({ ...span, service: said(resource)['service.name'] })))
    for (const { resource, scopeMetrics } of resourceMetrics)
      for (const { metrics } of scopeMetrics)
        this.metrics.push(...metrics.map((metric: Metric) => ({ ...metric, service: said(resource)['service.name'] })))
  }
}

/** The attributes of something, by name. */
export const said = ({ attributes }: { attributes: Attributes }): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
