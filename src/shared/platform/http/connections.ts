/**
 * Bounds how many requests of one connection are worked on. A client may pipeline as many as it likes, and Node hands
 * on all that have come: it stops reading for answers that wait to be sent, never for requests that wait for theirs.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that are worked on at a time. One is over when its answer has gone. */
const MAX_IN_WORK = 16

/**
 * Requests of all connections of a server that wait for their turn. Node reads 64 kB at a time, which may be thousands
 * of requests, and has parsed them all before a pause counts: a connection that would exceed this is closed.
 */
const MAX_WAITING = 32_768

/** More listeners than Node and the requests in work have on a socket. */
const MAX_LISTENERS = 8 * MAX_IN_WORK

/** Node's error for a request that has not come whole in time. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

type ErrorListener = (error: Error & { code?: string }, socket: Socket) => void

/** The connections of one server. */
export class Connections {
  private readonly server: Server
  private readonly all = new WeakMap<Socket, Connection>()
  private readonly room: Room

  /** Watches the connections that a server takes from now on. @param maxWaiting requests of all of them together */
  constructor(server: Server, maxWaiting = MAX_WAITING) {
    this.server = server
    this.room = { left: maxWaiting }
    server.on('connection', (socket: Socket) => this.all.set(socket, new Connection(socket, this.room)))
  }

  /** A listener for requests, which are handed on in the order in which they came, each when it is its turn. */
  inTurn(serve: RequestListener): RequestListener {
    return (request, response) => {
      this.all.get(request.socket)!.add({
        request,
        begin: (onFinished) => {
          response.once('close', onFinished)
          serve(request, response)
        },
      })
    }
  }

  /** A listener for `clientError`. It passes errors on, but not that a request is late which nobody has read. */
  errors(answer: ErrorListener): ErrorListener {
    return (error, socket) => {
      const connection = error.code === LATE ? this.all.get(socket) : undefined
      if (connection) connection.late(this.server.requestTimeout, () => answer(error, socket))
      else answer(error, socket)
    }
  }
}

/** How many more requests may wait. */
type Room = { left: number }

type Turn = { request: IncomingMessage; begin: (onFinished: () => void) => void }

/** One connection. It is not read while a request waits for its turn, so that its client's own buffers fill up. */
class Connection {
  private readonly socket: Socket
  private readonly room: Room
  private inWork = 0
  private waiting: Turn[] = []
  private isScheduled = false
  private newest: IncomingMessage | undefined
  private readAgainAt = -Infinity
  /** A request whose time has begun anew: one that has come in part, or the next. */
  private excused: IncomingMessage | 'next' | undefined

  constructor(socket: Socket, room: Room) {
    this.socket = socket
    this.room = room
    socket.setMaxListeners(MAX_LISTENERS)
    // Node goes on reading after each request that has come whole, and for each body that is read.
    socket.on('resume', () => {
      if (this.waiting.length > 0) this.stopReading()
    })
    socket.once('close', () => {
      this.room.left += this.waiting.length
      this.waiting = []
    })
  }

  /** Begins a request, or lets it wait. */
  add(turn: Turn): void {
    this.newest = turn.request
    if (this.excused === 'next') this.excused = turn.request
    if (this.socket.destroyed) return
    if (this.inWork < MAX_IN_WORK && this.waiting.length === 0) return this.begin(turn)
    if (this.room.left === 0) {
      this.socket.destroy()
      return
    }
    this.room.left -= 1
    this.waiting.push(turn)
    if (this.waiting.length === 1) this.stopReading()
  }

  /** `answer`s that a request is late, unless it came while nobody read: then it has `ms` from the next reading on. */
  late(ms: number, answer: () => void): void {
    if (this.waiting.length === 0 && performance.now() - this.readAgainAt > ms) return answer()
    const { newest } = this
    this.excused = newest && !newest.complete ? newest : 'next'
    const lookAgain = (): void => {
      const isWhole = this.excused !== 'next' && this.excused?.complete
      if (!isWhole && !this.socket.destroyed) this.late(ms, answer)
    }
    setTimeout(lookAgain, ms).unref()
  }

  private begin({ begin }: Turn): void {
    this.inWork += 1
    begin(() => {
      this.inWork -= 1
      this.schedule()
    })
  }

  /** One in each turn of the event loop: a client whose requests take no time must not keep the process from others. */
  private schedule(): void {
    if (this.isScheduled || this.waiting.length === 0 || this.inWork === MAX_IN_WORK) return
    this.isScheduled = true
    setImmediate(() => this.goOn())
  }

  private goOn(): void {
    this.isScheduled = false
    const next = this.waiting.shift()
    if (!next) return
    this.room.left += 1
    this.begin(next)
    if (this.waiting.length > 0) return this.schedule()
    this.readAgainAt = performance.now()
    this.socket.resume()
  }

  private stopReading(): void {
    this.socket.pause()
    // A second pause emits nothing, though Node may have begun to read since the first.
    this.socket.emit('pause')
  }
}
