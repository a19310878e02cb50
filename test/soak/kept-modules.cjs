/**
 * Modules of later processes are not searched for, transformed or compiled again. Each is kept as it was run, with the
 * code that V8 made of it, under a hash of its path and its source, so that a bug that is planted is always compiled.
 * Packages are kept under their path alone, and a file is found where it was found before: while the folder is in use,
 * nothing is installed, and no file of the tree is added or removed.
 * Required after tsx, whose work it keeps. KEPT_MODULES names the folder.
 */
const { createHash } = require('node:crypto')
const { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const path = require('node:path')
const { Script, constants } = require('node:vm')

const index = path.join(process.env.KEPT_MODULES, 'index.json')
const data = path.join(process.env.KEPT_MODULES, 'data')

/**
 * `places`: by key, where the text and the code of a module are: `[offset, bytes of text, bytes of code]`. `files`: by
 * folder and by what a module of it asks for, the file that was found.
 */
const { places, files } = existsSync(index) ? JSON.parse(readFileSync(index, 'utf8')) : { places: {}, files: {} }
const bytes = existsSync(data) ? readFileSync(data) : Buffer.alloc(0)

/** What this process has compiled, to keep as it ends. */
const compiled = []

/** Whether this process has searched for a file. */
let searched = false

/** The key of the module that is being loaded by its own handler, until it is compiled. */
let loading

const PACKAGES = `${path.sep}node_modules${path.sep}`

const hashOf = (file) => createHash('sha1').update(`${file}\n`).update(readFileSync(file)).digest('base64')
const keyOf = (file) => (file.includes(PACKAGES) ? file : hashOf(file))

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

const search = Module._resolveFilename

Module._resolveFilename = function (asked, parent, isMain, options) {
  if (options || !parent?.filename) return search.call(this, asked, parent, isMain, options)
  const found = (files[path.dirname(parent.filename)] ??= {})
  if (!found[asked]) {
    found[asked] = search.call(this, asked, parent, isMain, options)
    searched = true
  }
  return found[asked]
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
  if (parts.length === 0 && !searched) return
  appendFileSync(data, Buffer.concat(parts))
  writeFileSync(index, JSON.stringify({ places, files }))
})
