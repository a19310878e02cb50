/**
 * Modules of later processes are neither transformed nor compiled again: each is kept as it was run, with the code that
 * V8 made of it, under a hash of its path and its source: so a bug that is planted is always compiled.
 * Required after tsx, whose work it keeps. KEPT_MODULES names the folder.
 */
const { createHash } = require('node:crypto')
const { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const path = require('node:path')
const { Script, constants } = require('node:vm')

const index = path.join(process.env.KEPT_MODULES, 'index.json')
const data = path.join(process.env.KEPT_MODULES, 'data')

/** By key, where the text and the code of a module are: `[offset, bytes of text, bytes of code]`. */
const places = existsSync(index) ? JSON.parse(readFileSync(index, 'utf8')) : {}
const bytes = existsSync(data) ? readFileSync(data) : Buffer.alloc(0)

/** What this process has compiled, to keep as it ends. */
const compiled = []

/** The key of the module that is being loaded by its own handler, until it is compiled. */
let loading

const keyOf = (file) => createHash('sha1').update(`${file}\n`).update(readFileSync(file)).digest('base64')

function run(module, file, text, cachedData) {
  const script = new Script(Module.wrap(text), {
    filename: file,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const body = script.runInThisContext()
  body.call(module.exports, module.exports, Module.createRequire(file), module, file, path.dirname(file))
  return script
}

const compile = Module.prototype._compile

Module.prototype._compile = function (text, file, ...rest) {
  if (loading?.file !== file) return compile.call(this, text, file, ...rest)
  const { key } = loading
  loading = undefined
  const entry = { key, text }
  compiled.push(entry)
  entry.script = run(this, file, text)
}

for (const extension of Object.keys(Module._extensions).filter((one) => one !== '.json' && one !== '.node')) {
  const load = Module._extensions[extension]
  Module._extensions[extension] = (module, file) => {
    const key = keyOf(file)
    const place = places[key]
    if (!place) {
      loading = { key, file }
      return load(module, file)
    }
    const [at, ofText, ofCode] = place
    const text = bytes.toString('utf8', at, at + ofText)
    run(module, file, text, bytes.subarray(at + ofText, at + ofText + ofCode))
  }
}

process.on('exit', () => {
  let at = bytes.length
  // A thread or a child of the tests has kept its own meanwhile.
  if (existsSync(data) && statSync(data).size !== at) return
  const parts = []
  for (const { key, text, script } of compiled.filter(({ script }) => script !== undefined)) {
    const [source, code] = [Buffer.from(text), script.createCachedData()]
    places[key] = [at, source.length, code.length]
    parts.push(source, code)
    at += source.length + code.length
  }
  appendFileSync(data, Buffer.concat(parts))
  writeFileSync(index, JSON.stringify(places))
})
