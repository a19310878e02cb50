/**
 * The pictures and videos of the account, while they are stored.
 */
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import type { CallRecord } from '../api/endpoints.ts'
import { getCalls } from '../api/endpoints.ts'
import { Empty, Page, Time } from '../parts/basics.tsx'
import { ownAddress, useLoadFailure } from '../parts/call-details.tsx'

import { number } from '../parts/format.ts'
import { List, Pager } from '../parts/list.tsx'
import type { PageProps } from '../parts/route.ts'
import { withFields } from '../parts/route.ts'
import { useLoad } from '../state/load.ts'

const words = t.models

const PAGE = 24

const MEDIA = ['image', 'video'] as const

export function GalleryPage({ query }: PageProps) {
  const { path } = useLocation()
  const modality = query.kind === 'video' ? 'video' : 'image'
  const calls = useLoad(`gallery ${modality} ${query.cursor ?? ''}`, () =>
    getCalls({ modality, status: 'succeeded', limit: String(PAGE), cursor: query.cursor }),
  )
  return (
    <Page title={t.frame.page.gallery}>
      <nav class="tabs" aria-label={words.kinds}>
        {MEDIA.map((kind) => (
          <a key={kind} href={withFields(path, {}, { kind })} aria-current={kind === modality ? 'page' : undefined}>
            {t.words.plurals[kind]}
          </a>
        ))}
      </nav>
      <List
        of={calls}
        rows={12}
        empty={
          <section class="panel">
            <Empty title={words.nothing}>
              {words.make((name) => (
                <a href={`/playground/${modality}`}>{name}</a>
              ))}
            </Empty>
          </section>
        }
      >
        {(items) => <Pieces calls={items} />}
      </List>
      <Pager path={path} query={query} next={calls.data?.nextCursor} />
    </Page>
  )
}

/** The results that are still stored, each picture of a call by itself, and how many calls have none. */
function Pieces({ calls }: { calls: CallRecord[] }) {
  const kept = calls.flatMap((call) => call.resultUrls.map((url) => ({ call, url })))
  const gone = calls.filter(({ resultUrls }) => resultUrls.length === 0).length
  return (
    <>
      {kept.length > 0 && (
        <ul class="gallery">
          {kept.map(({ call, url }) => (
            <Piece key={url} call={call} url={url} />
          ))}
        </ul>
      )}
      {gone > 0 && (
        <p class="soft">
          {words.moreGone(number(gone), gone === 1, (name) => (
            <a href="/calls">{name}</a>
          ))}
        </p>
      )}
    </>
  )
}

/** One picture or video. Where it cannot be shown, its place has a note that it is gone, or a link. */
function Piece({ call, url }: { call: CallRecord; url: string }) {
  const address = ownAddress(url)
  const { failure, check } = useLoadFailure(address)
  return (
    <li>
      {failure ? (
        <span class="gone soft">{failure === 'gone' ? words.gone : <a href={address}>{words.unreachable}</a>}</span>
      ) : call.modality === 'video' ? (
        <video src={address} controls muted playsInline preload="metadata" onError={check} />
      ) : (
        <a href={address} target="_blank" rel="noreferrer">
          <img src={address} alt={words.madeBy(call.model)} loading="lazy" onError={check} />
        </a>
      )}
      <a href={`/calls/${call.id}`}>
        {call.model}
        <small class="soft">
          {' '}
          · <Time iso={call.createdAt} />
        </small>
      </a>
    </li>
  )
}
