/**
 * The playground: real calls, paid like any other.
 */
import { useLocation } from 'preact-iso'
import { t } from '../../language/language.ts'
import { getModels } from '../../api/endpoints.ts'
import { Empty, Page, ErrorMessage, Loading } from '../../parts/basics.tsx'
import type { PageProps } from '../../parts/route.ts'
import { withFields } from '../../parts/route.ts'
import { useLoad } from '../../state/load.ts'
import { PLAYED } from '../../api/call-forms.ts'
import { ChatPlayground } from './chat.tsx'
import { MediaPlayground } from './media.tsx'

const words = t.playground

export function PlaygroundPage({ params, query }: PageProps) {
  const { route } = useLocation()
  const models = useLoad('models', getModels)
  const kind = PLAYED.find((one) => one === params.kind) ?? 'chat'
  const offered = (models.data?.data ?? []).filter(({ modality }) => modality === kind)
  const model = offered.find(({ id }) => id === query.model) ?? offered[0]
  const put = (changes: Record<string, string | undefined>): void =>
    route(withFields(`/playground/${kind}`, query, changes), true)
  const choose = (id: string): void => put({ model: id })
  return (
    <Page title={t.frame.page.playground}>
      <nav class="tabs" aria-label={t.models.kinds}>
        {PLAYED.map((one) => (
          <a key={one} href={`/playground/${one}`} aria-current={one === kind ? 'page' : undefined}>
            {t.words.kinds[one]}
          </a>
        ))}
      </nav>
      <ErrorMessage problem={models.problem} retry={models.reload} />
      {!models.data ? (
        !models.problem && <Loading rows={8} />
      ) : !model ? (
        <section class="panel">
          <Empty title={words.none(kind)}>
            {t.models.see((name) => (
              <a href="/models">{name}</a>
            ))}
          </Empty>
        </section>
      ) : kind === 'chat' ? (
        <ChatPlayground
          models={offered}
          model={model}
          choose={choose}
          other={offered.find(({ id }) => id === query.with) ?? null}
          compare={(id) => put({ with: id ?? undefined })}
        />
      ) : (
        <MediaPlayground key={kind} kind={kind} models={offered} model={model} choose={choose} />
      )}
    </Page>
  )
}
