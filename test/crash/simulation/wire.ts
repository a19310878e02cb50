import type { Redis } from 'ioredis'
import type { Process } from '../../support/faults.ts'

type Subscriber = {
  process: Process
  channels: Set<string>
  connected: boolean
  onMessage: ((channel: string, message: string) => void)[]
  onReady: (() => void)[]
}

/** Publish and subscribe. A subscriber never gets what is published while its connection is cut. */
export class Wire {
  private readonly subscribers: Subscriber[] = []
  private readonly keys = new Set<string>()

  /** A process's subscriber connection. */
  subscriberOf(process: Process): Redis {
    const own: Subscriber = { process, channels: new Set(), connected: true, onMessage: [], onReady: [] }
    this.subscribers.push(own)
    return {
      on(event: string, listener: () => void) {
        if (event === 'message') own.onMessage.push(listener)
        if (event === 'ready') own.onReady.push(listener)
      },
      async subscribe(channel: string) {
        own.channels.add(channel)
      },
      async unsubscribe(channel: string) {
        own.channels.delete(channel)
      },
    } as unknown as Redis
  }

  /** A process's connection for publishing. */
  publisherOf(process: Process): Redis {
    const publish = async (channel: string, message: string) => (process.alive ? this.publish(channel, message) : 0)
    return {
      publish,
      set: async (key: string) => this.setOnce(key),
      pipeline: () => pipelineOf(publish),
      pubsub: async (_command: string, channel: string) => [channel, this.listeners(channel).length],
    } as unknown as Redis
  }

  /** Cuts a process's subscription. */
  cut(process: Process): void {
    for (const one of this.subscribers) if (one.process === process) one.connected = false
  }

  /** Connects every subscription that was cut. Returns whether there was one. */
  mend(): boolean {
    const cut = this.subscribers.filter((one) => !one.connected && one.process.alive)
    for (const one of cut) {
      one.connected = true
      one.onReady.forEach((ready) => ready())
    }
    return cut.length > 0
  }

  private listeners(channel: string): Subscriber[] {
    return this.subscribers.filter((one) => one.process.alive && one.connected && one.channels.has(channel))
  }

  /** Forgets every key. */
  flush(): void {
    this.keys.clear()
  }

  private publish(channel: string, message: string): number {
    const listeners = this.listeners(channel)
    for (const one of listeners) one.onMessage.forEach((notify) => notify(channel, message))
    return listeners.length
  }

  private setOnce(key: string): 'OK' | null {
    if (this.keys.has(key)) return null
    this.keys.add(key)
    return 'OK'
  }
}

type Publish = (channel: string, message: string) => Promise<number>

function pipelineOf(publish: Publish) {
  const waiting: Parameters<Publish>[] = []
  const pipeline = {
    publish: (...message: Parameters<Publish>) => {
      waiting.push(message)
      return pipeline
    },
    exec: async () => {
      for (const message of waiting) await publish(...message)
    },
  }
  return pipeline
}
