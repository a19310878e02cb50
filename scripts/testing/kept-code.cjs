/**
 * Modules of this folder are compiled once: the code is kept beside each, as V8 wrote it when a process with KEEP_CODE
 * ended, which then loads the modules that KEEP_CODE names too, and later processes read it. V8 compiles anew what was
 * kept by another version.
 */
const { readFileSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const path = require('node:path')
const { Script } = require('node:vm')

const compile = Module.prototype._compile
const compiled = []

/** What was kept of a module; undefined if nothing was. */
function keptOf(file) {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

Module.prototype._compile = function (source, file) {
  if (path.dirname(file) !== __dirname) return compile.call(this, source, file)
  const script = new Script(Module.wrap(source), { filename: file, cachedData: keptOf(`${file}.code`) })
  compiled.push({ script, file })
  const run = script.runInThisContext()
  return run.call(this.exports, this.exports, Module.createRequire(file), this, file, path.dirname(file))
}

const { KEEP_CODE } = process.env

if (KEEP_CODE)
  process.on('exit', () => {
    for (const part of KEEP_CODE.split(' ')) require(`./${part}`)
    for (const { script, file } of compiled) writeFileSync(`${file}.code`, script.createCachedData())
  })
