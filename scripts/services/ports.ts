import { createServer } from 'node:net'

function canListen(port: number, host: string | undefined): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined)
      // A machine without IPv6 has nothing that could listen there.
      else if (error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL') resolve(port)
      else reject(error)
    })
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined))
    })
  })
}

/** Whether nothing listens on the port, on any address of this machine. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of [undefined, '127.0.0.1']) {
    if ((await canListen(port, host)) === undefined) return false
  }
  return true
}

/**
 * Where "any" port is looked for: below those that systems assign when asked for any, and that they would assign
 * between the check and the listening. Processes begin at different places, and none gives one twice in a row.
 */
const [LOWEST, PLACES, PORTS_A_PLACE] = [20_000, 100, 100]
let given = 0

/**
 * A free TCP port: `first` when it is free, else the next one above it; with 0, any. It is free now, but
 * not reserved: a caller that loses it to another process asks again. Throws an Error when 200 in a row are taken.
 */
export async function freePort(first = 0): Promise<number> {
  if (first === 0) {
    const place = LOWEST + (process.pid % PLACES) * PORTS_A_PLACE
    return await freePort(place + (given++ % PORTS_A_PLACE))
  }
  for (let port = first; port < first + 200 && port <= 65_535; port += 1) {
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${first} on`)
}
