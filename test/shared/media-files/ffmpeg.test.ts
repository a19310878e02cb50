import { expect } from 'chai'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NoSound, SOUND_KINDS } from '../../../src/shared/media-files/reader.ts'
import { RECORDINGS, outcome, recording } from './fixtures.ts'
import type { Made } from './polyglots.ts'
import { polyglots } from './polyglots.ts'

/** Its binary, where its package has one for this platform. */
function findFfmpeg(): string | null {
  try {
    const { path } = createRequire(import.meta.url)('@ffmpeg-installer/ffmpeg') as { path: string }
    return spawnSync(path, ['-version']).status === 0 ? path : null
  } catch {
    return null
  }
}

const ffmpeg = findFfmpeg()

/** Of what is decoded, the least share that is charged. */
const LEAST_SHARE = 0.95

/** Files of each recording that are changed at random. */
const CHANGED = 4

describe('the length of a file, next to what ffmpeg decodes of it', () => {
  let folder: string
  before(function () {
    if (!ffmpeg) this.skip()
    folder = mkdtempSync(join(tmpdir(), 'tollgate-ffmpeg-'))
  })
  after(() => folder && rmSync(folder, { recursive: true }))

  /** What ffmpeg makes of its own arguments. */
  const make = (...args: string[]): Buffer =>
    execFileSync(ffmpeg!, ['-v', 'error', ...args, '-'], { maxBuffer: 64_000_000 })

  let files = 0

  /** The seconds that ffmpeg decodes of a file as an upstream gets it: under our name, without a tag in front. */
  async function decodedSeconds(bytes: Buffer, extension: string): Promise<number> {
    const path = join(folder, `${files++}.${extension}`)
    writeFileSync(path, bytes)
    const args = ['-v', 'error', '-i', path, '-map', '0:a:0', '-f', 's16le', '-ac', '1', '-ar', '8000', '-']
    const decoded = await new Promise<number>((resolve) => {
      const child = execFile(ffmpeg!, args, { encoding: 'buffer', maxBuffer: 512_000_000 }, (_error, stdout) =>
        resolve(stdout.length),
      )
      child.stdin?.end()
    })
    rmSync(path)
    return decoded / 16_000
  }

  /** What is wrong with what is charged for a file; nothing where it is refused. */
  async function shortfall(name: string, bytes: Buffer): Promise<string[]> {
    const sound = outcome(bytes)
    if (sound instanceof NoSound) return []
    const { from, kind, seconds } = sound
    const decoded = await decodedSeconds(bytes.subarray(from), SOUND_KINDS[kind].extension)
    const isPaid = Math.ceil(seconds) >= LEAST_SHARE * decoded
    return isPaid ? [] : [`${name}: ${seconds} s of ${kind} are charged, ${decoded} s decoded`]
  }

  for (const [file] of RECORDINGS)
    it(`is not less for ${file} as it is, and changed in places of its head`, async () => {
      const whole = recording(file)
      const random = seeded(file.length)
      const short = await shortfall(file, whole)
      for (let one = 0; one < CHANGED; one++) {
        const changed = Buffer.from(whole)
        for (let change = 0; change <= one % 4; change++)
          changed[12 + Math.floor(random() * Math.min(600, whole.length - 12))] = Math.floor(random() * 256)
        short.push(...(await shortfall(`${file} changed (${one})`, changed)))
      }
      expect(short).to.deep.equal([])
    })

  it('is not less for files that are of two formats, and not all of them are refused', async () => {
    const made: Made[] = polyglots(make)
    const short: string[] = []
    for (const { name, bytes } of made) short.push(...(await shortfall(name, bytes)))
    expect(short).to.deep.equal([])
    const accepted = made.filter(({ bytes }) => !(outcome(bytes) instanceof NoSound)).map(({ name }) => name)
    const honest = made.filter(({ isHonest }) => isHonest).map(({ name }) => name)
    expect(accepted).to.include.members(honest)
  })
}).timeout(120_000)

/** Numbers from 0 to 1, the same in each run. */
function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0
    return (state >>> 0) / 2 ** 32
  }
}
