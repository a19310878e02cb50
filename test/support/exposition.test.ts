import { expect } from 'chai'
import { readExposition, valueOf } from './exposition.ts'

describe('the parser of the exposition format', () => {
  it('reads the example in the documentation of the format', () => {
    const families = readExposition(
      [
        '# HELP http_requests_total The total number of HTTP requests.',
        '# TYPE http_requests_total counter',
        'http_requests_total{method="post",code="200"} 1027 1395066363000',
        'http_requests_total{method="post",code="400"}    3 1395066363000',
        '',
        '# Escaping in label values:',
        'msdos_file_access_time_seconds{path="C:\\\\DIR\\\\FILE.TXT",' +
          'error="Cannot find file:\\n\\"FILE.TXT\\""} 1.458255915e9',
        '',
        'metric_without_timestamp_and_labels 12.47',
        '',
        'something_weird{problem="division by zero"} +Inf -3982045',
        '',
        '# HELP http_request_duration_seconds A histogram of the request duration.',
        '# TYPE http_request_duration_seconds histogram',
        'http_request_duration_seconds_bucket{le="0.05"} 24054',
        'http_request_duration_seconds_bucket{le="+Inf"} 144320',
        'http_request_duration_seconds_sum 53423',
        'http_request_duration_seconds_count 144320',
        '',
      ].join('\n'),
    )
    expect(valueOf(families, 'http_requests_total')).to.equal(1030)
    expect(families.get('msdos_file_access_time_seconds')!.samples[0]!.labels).to.deep.equal({
      path: 'C:\\DIR\\FILE.TXT',
      error: 'Cannot find file:\n"FILE.TXT"',
    })
    expect(valueOf(families, 'http_request_duration_seconds_count')).to.equal(144320)
  })

  for (const [what, text] of Object.entries({
    'a last line that does not end': 'a 1',
    'a value that is no number': 'a one\n',
    'an unquoted label': 'a{b=c} 1\n',
    'an unescaped quote': 'a{b="c"d"} 1\n',
    'an unknown escape': 'a{b="c\\t"} 1\n',
    'a label twice': 'a{b="1",b="2"} 1\n',
    'a series twice': 'a{b="1"} 1\na{b="1"} 2\n',
    'a metric in two places': 'a 1\nb 1\na{c="1"} 1\n',
    'a TYPE behind its samples': 'a 1\n# TYPE a counter\n',
    'an unknown type': '# TYPE a number\na 1\n',
    'a counter below zero': '# TYPE a counter\na -1\n',
    'a histogram without its last bucket': '# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n',
    'buckets that shrink': '# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  })) {
    it(`refuses ${what}`, () => expect(() => readExposition(text)).to.throw())
  }
})
