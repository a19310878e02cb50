/**
 * The models and their prices.
 */
import { getModels } from '../api/endpoints.ts'
import { Copy, Empty, Page, Trouble, Waiting } from '../parts/basics.tsx'
import { credits, priceText } from '../parts/format.ts'
import { useLoad } from '../state/load.ts'

const WORDS: Record<string, string> = { chat: 'Chat', image: 'Image', video: 'Video' }

export function ModelsPage() {
  const models = useLoad('models', getModels)
  return (
    <Page title="Models">
      <p class="soft">A chat is charged for its tokens when it ends, an image or a video at a fixed price. What fails costs nothing.</p>
      <Trouble problem={models.problem} retry={models.reload} />
      {!models.data ? !models.problem && <Waiting rows={4} /> : models.data.data.length === 0
        ? <section class="panel"><Empty title="No model is offered">The operator configures them in the catalogue file.</Empty></section>
        : (
          <ul class="models">
            {models.data.data.map((model) => (
              <li key={model.id} class="panel">
                <span class={`kind ${model.modality}`}>{WORDS[model.modality] ?? model.modality}</span>
                <h2>{model.name ?? model.id}</h2>
                <p class="id"><code>{model.id}</code><Copy text={model.id} /></p>
                {model.description && <p class="soft">{model.description}</p>}
                <p><strong>{priceText(model)}</strong>{model.pricing && <small class="soft"> · at least {credits(model.pricing.minimum)}</small>}</p>
                <a href={`/playground/${model.modality}?model=${encodeURIComponent(model.id)}`}>Try it</a>
              </li>
            ))}
          </ul>
        )}
    </Page>
  )
}
