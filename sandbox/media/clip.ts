import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

let clip: Buffer | undefined

/** The sandbox's only video: H.264, 320x180, two seconds of a moving square. */
export function videoClip(): Buffer {
  clip ??= readFileSync(join(packageRoot(), 'assets', 'sandbox', 'clip.mp4'))
  return clip
}

/** The folder that holds package.json, from the sources as well as from compiled code below dist. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('The sandbox cannot find its assets: no package.json above its code.')
    folder = parent
  }
  return folder
}
