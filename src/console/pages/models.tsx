/**
 * The models and their prices.
 */
import type { ModelEntry } from '../api/endpoints.ts'
import { getModels } from '../api/endpoints.ts'
import { Copy, Empty, Page } from '../parts/basics.tsx'
import { credits, priceText } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { useLoad } from '../state/load.ts'

const WORDS: Record<string, string> = { chat: 'Chat', image: 'Image', video: 'Video' }

export function ModelsPage() {
  const models = useLoad('models', getModels)
  const none = <Empty title="No models are available">The operator configures them in the catalogue file.</Empty>
  return (
    <Page title="Models">
      <p class="soft">
        Chats are billed by the token; images and videos have a fixed price. Failed calls cost nothing.
      </p>
      <List of={models} empty={none}>
        {(items) => (
          <ul class="models">
            {items.map((model) => (
              <ModelCard key={model.id} model={model} />
            ))}
          </ul>
        )}
      </List>
    </Page>
  )
}

function ModelCard({ model }: { model: ModelEntry }) {
  return (
    <li class="panel">
      <span class={`kind ${model.modality}`}>{WORDS[model.modality] ?? model.modality}</span>
      <h2>{model.name ?? model.id}</h2>
      <p class="id">
        <code>{model.id}</code>
        <Copy text={model.id} />
      </p>
      {model.description && <p class="soft">{model.description}</p>}
      <p>
        <strong>{priceText(model)}</strong>
        {model.pricing && <small class="soft"> · at least {credits(model.pricing.minimum)}</small>}
      </p>
      <a href={`/playground/${model.modality}?model=${encodeURIComponent(model.id)}`}>Try it</a>
    </li>
  )
}
