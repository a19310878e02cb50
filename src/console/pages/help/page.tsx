/**
 * The guides: a list of them, and one.
 */
import { useEffect, useMemo } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { getModels } from '../../api/endpoints.ts'
import { Empty, ErrorMessage, Loading, Page } from '../../parts/basics.tsx'
import { Guide as GuideContext, Markdown } from '../../parts/markdown.tsx'
import type { PageProps } from '../../parts/route.ts'
import { account } from '../../state/account.ts'
import type { Guide } from '../../state/guides.ts'
import { filledIn, getGuide, getGuides, guideHref } from '../../state/guides.ts'
import { useLoad } from '../../state/load.ts'
import { token } from '../../state/session.ts'

const words = t.models

/** The groups of guides, operators' last, and first for operators' eyes only where they are of use. */
const groupsFor = (): Guide['group'][] => (account.value?.role === 'admin' ? ['operate', 'use'] : ['use', 'operate'])

export function HelpPage({ params: { folder, page } }: PageProps) {
  const name = [folder, page].filter(Boolean).join('/')
  const guides = useLoad('guides', getGuides)
  const guide = guides.data?.find((one) => one.name === name)
  return (
    <Page
      title={guide?.title ?? t.frame.page.help}
      aside={
        <span class="row">
          {name !== '' && <a href="/help">{words.allGuides}</a>}
          <a href="/docs">{t.frame.page.reference}</a>
        </span>
      }
    >
      <ErrorMessage problem={guides.problem} retry={guides.reload} />
      {name === '' ? (
        guides.data ? (
          <AllGuides guides={guides.data} />
        ) : (
          <Loading rows={10} />
        )
      ) : guides.data && !guide ? (
        <section class="panel">
          <Empty title={words.noGuide}>
            <a href="/help">{words.showGuides}</a>
          </Empty>
        </section>
      ) : (
        <OneGuide key={name} name={name} />
      )}
    </Page>
  )
}

const AllGuides = ({ guides }: { guides: Guide[] }) => (
  <section class="panel guides" aria-label={words.guides}>
    {groupsFor().map((group) => (
      <div key={group}>
        <h2>{words.groups[group]}</h2>
        <ul>
          {guides
            .filter((one) => one.group === group)
            .map(({ name, title }) => (
              <li key={name}>
                <a href={`/help/${name}`} lang="en">
                  {title}
                </a>
              </li>
            ))}
        </ul>
      </div>
    ))}
  </section>
)

function OneGuide({ name }: { name: string }) {
  const page = useLoad(`guide ${name}`, () => getGuide(name))
  const models = useLoad(token.value === null ? 'no models' : 'models', async () =>
    token.value === null ? { data: [] } : getModels(),
  )
  const text = useMemo(
    () => page.data && filledIn(withoutTitle(page.data), location.origin, models.data?.data ?? []),
    [page.data, models.data],
  )
  const links = useMemo(() => ({ hrefOf: (href: string) => guideHref(href, name) }), [name])
  // The place that the address names is there once the guide is.
  useEffect(() => {
    if (text !== undefined && location.hash !== '')
      document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView()
  }, [text])
  return (
    <article class="panel" lang="en">
      <ErrorMessage problem={page.problem} retry={page.reload} />
      {text === undefined ? (
        !page.problem && <Loading rows={14} />
      ) : (
        <GuideContext.Provider value={links}>
          <Markdown text={text} />
        </GuideContext.Provider>
      )}
    </article>
  )
}

/** The title of the page is that of the guide. */
const withoutTitle = (text: string): string => text.replace(/^# .*\n/, '')
