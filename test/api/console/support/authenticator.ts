import type { Reply } from '../../../../scripts/harness/http.ts'
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** CBOR of what authenticators send: numbers to 255 and from -256, texts, bytes, and maps as pairs. */
type Cbor = number | string | Buffer | [Cbor, Cbor][]

const head = (major: number, length: number): Buffer =>
  length < 24
    ? Buffer.from([(major << 5) | length])
    : length < 256
      ? Buffer.from([(major << 5) | 24, length])
      : Buffer.from([(major << 5) | 25, length >> 8, length & 255])

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  return Buffer.concat([head(5, value.length), ...value.flatMap(([key, one]) => [cbor(key), cbor(one)])])
}

const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()

type Options = { challenge: string }

/** How an authenticator answers: for which origin, whether it verified its user, and what it counted. */
export type Manner = { origin?: string; host?: string; isVerified?: boolean; counter?: number; attestation?: Cbor }

/** An authenticator of the tests, with one passkey, which signs in software. */
export function anAuthenticator({ origin = 'https://gate.example', host = 'gate.example' } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  const rawId = id.toString('base64url')
  let count = 0

  const clientDataOf = (type: string, { challenge }: Options, manner: Manner) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: manner.origin ?? origin, crossOrigin: false }))
  const dataOf = (manner: Manner, flags: number, rest = Buffer.alloc(0)) => {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(manner.counter ?? ++count)
    const verified = (manner.isVerified ?? true) ? 4 : 0
    return Buffer.concat([sha256(manner.host ?? host), Buffer.from([1 | verified | flags]), counter, rest])
  }

  return {
    /** What a browser answers when it has made the passkey. */
    make: (options: Options, manner: Manner = {}) => {
      const key: Cbor = [
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(key)])
      const attestation: Cbor = [
        ['fmt', manner.attestation === undefined ? 'none' : 'packed'],
        ['attStmt', manner.attestation ?? []],
        ['authData', dataOf(manner, 0x40, credential)],
      ]
      return {
        id: rawId,
        rawId,
        type: 'public-key',
        response: {
          clientDataJSON: clientDataOf('webauthn.create', options, manner).toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    /** What a browser answers when it has used the passkey. */
    use: (options: Options, manner: Manner = {}) => {
      const clientData = clientDataOf('webauthn.get', options, manner)
      const data = dataOf(manner, 0)
      const signature = createSign('sha256').update(data).update(sha256(clientData)).sign(privateKey)
      return {
        id: rawId,
        rawId,
        type: 'public-key',
        response: {
          clientDataJSON: clientData.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      }
    },
  }
}

type Ask = (method: string, path: string, body?: unknown) => Promise<Reply>

/** Adds a passkey to somebody who is logged in. */
export async function addPasskey(me: Ask) {
  const { options } = (await me('POST', '/api/auth/passkeys/options', {})).json
  const device = anAuthenticator()
  await me('POST', '/api/auth/passkeys', { name: 'Phone', response: device.make(options as Options) })
  return device
}
