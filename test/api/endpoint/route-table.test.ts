import Router from '@koa/router'
import { expect } from 'chai'
import { tableOf } from '../../../src/api/endpoint/router.ts'
import type { RequestState } from '../../../src/api/middleware/request-context.ts'

describe('the table of routes', () => {
  const router = new Router<RequestState>()
  const nothing = () => {}
  router.get('/v1/videos/:id', nothing)
  router.delete('/v1/videos/:id', nothing)
  router.post('/v1/videos/generations', nothing)
  router.get('/v1/models', nothing)
  router.get('/v1/models/*id', nothing)
  router.get('/v1/webhooks/:id/deliveries/:delivery', nothing)
  router.all('/admin/*path', nothing)
  router.get(/^\/verify%23/i, nothing)
  const at = tableOf(router)

  it('finds parameters by their names, decoded once, and as they were sent where their encoding is not valid', () => {
    const paramsAt = (path: string) => at(path)?.params
    expect(paramsAt('/v1/videos/x')).to.deep.equal({ id: 'x' })
    expect(paramsAt('/v1/webhooks/a/deliveries/b%20c')).to.deep.equal({ id: 'a', delivery: 'b c' })
    expect(paramsAt('/v1/models/a/b')).to.deep.equal({ id: 'a/b' })
    expect(paramsAt('/v1/models/a%2Fb/c/')).to.deep.equal({ id: 'a/b/c/' })
    expect(paramsAt('/v1/models/a%252Fb')).to.deep.equal({ id: 'a%2Fb' })
    expect(paramsAt('/v1/models/%C3%A9%3F')).to.deep.equal({ id: 'é?' })
    expect(paramsAt('/v1/models/100%')).to.deep.equal({ id: '100%' })
    expect(paramsAt('/v1/models/%E0%A4')).to.deep.equal({ id: '%E0%A4' })
    expect(paramsAt(`/v1/videos/${'x'.repeat(9000)}`)).to.deep.equal({ id: 'x'.repeat(9000) })
  })

  it('finds nothing at another spelling of a path, nor where a parameter is empty', () => {
    for (const path of [
      ...(
        '/V1/models /v1/models/ //v1/models /v1//models /%761/models /v1/model%73 /v1%2Fmodels /v1/videos/ ' +
        '/v1/videos/x/ /v1/webhooks//deliveries/b /admin/ /v1/model *'
      ).split(' '),
      '',
    ])
      expect(at(path), path).to.equal(null)
  })

  it('has the methods of every pattern, and those of a path without parameters alone', () => {
    const methodsAt = (path: string) => [...at(path)!.serves.keys()].toSorted()
    expect(methodsAt('/v1/videos/x')).to.deep.equal(['DELETE', 'GET', 'HEAD'])
    expect(methodsAt('/v1/videos/generations')).to.deep.equal(['POST'])
    expect(methodsAt('/admin/queues/x')).to.include.members(['GET', 'PUT', 'POST', 'OPTIONS'])
    expect(at('/VERIFY%23x')?.params).to.deep.equal({})
  })
})
