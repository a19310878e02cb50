/**
 * `node --require` of this file has V8 take what it has compiled of the bundled programs (scripts/testing/programs.ts)
 * from files next to them: a third of the CPU time of their start. With TOLLGATE_TEST_COMPILES=1 it writes these files.
 */
const Module = require('node:module')
const { existsSync, readFileSync, writeFileSync } = require('node:fs')
const path = require('node:path')
const { Script, constants } = require('node:vm')

const writes = process.env.TOLLGATE_TEST_COMPILES === '1'
const { _compile: compile } = Module.prototype

Module.prototype._compile = function (content, filename, ...rest) {
  const cache = `${filename}.compiled`
  if (!path.isAbsolute(filename) || (!writes && !existsSync(cache)))
    return compile.call(this, content, filename, ...rest)
  const script = new Script(Module.wrap(content), {
    filename,
    cachedData: writes ? undefined : readFileSync(cache),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  if (writes) process.on('exit', () => writeFileSync(cache, script.createCachedData()))
  const run = script.runInThisContext()
  return run.call(this.exports, this.exports, Module.createRequire(filename), this, filename, path.dirname(filename))
}
