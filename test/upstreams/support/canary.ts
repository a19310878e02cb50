import type { Listening } from '../../workers/fetching/servers.ts'
import { serve } from '../../workers/fetching/servers.ts'
import { PIXEL } from '../../support/pixel.ts'

/** A server of the private network that must never be reached. It answers everything with an image of one pixel. */
export const startCanary = (): Promise<Listening> =>
  serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end(IMAGE)
  })

const IMAGE = Buffer.from(PIXEL, 'base64')
