import { expect } from 'chai'
import { checkStorage } from '../../../src/shared/media/storage-check.ts'
import type { S3Server } from '../../workers/storage/s3-server.ts'
import { startS3 } from '../../workers/storage/s3-server.ts'

describe('the first check of the storage of results', () => {
  let s3: S3Server
  before(async () => {
    s3 = await startS3()
  })
  after(() => s3.close())

  const look = async (bucket: string, credentials = s3.credentials) =>
    checkStorage({ STORAGE_URL: `s3://${bucket}/media`, S3_ENDPOINT: s3.origin }, { credentials }).then(
      (warning) => warning ?? 'well',
      (error: Error) => `${error.name}: ${error.message}`,
    )

  it('finds a usable bucket', async () => {
    expect(await look(s3.bucket)).to.equal('well')
  })

  it('refuses a missing bucket and an unknown key', async () => {
    expect(await look('no-such-bucket')).to.match(/^Error: STORAGE_URL: the bucket no-such-bucket cannot be used/)
    expect(await look(s3.bucket, { ...s3.credentials, secretAccessKey: 'another' })).to.match(
      /^Error: STORAGE_URL: .* SignatureDoesNotMatch/,
    )
  })

  it('warns of a bucket that does not answer, since results are needed only later', async () => {
    s3.failOn((method, url) => method === 'GET' && url.searchParams.has('list-type'))
    expect(await look(s3.bucket)).to.match(/^STORAGE_URL: the bucket .* does not answer as it should/)
  })
})
