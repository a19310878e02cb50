/**
 * Fields that upstreams bill for, or by which another model, vendor or tier serves a call: the operator's to set or to
 * allow. The one table, for the rules of the catalogue and for what is refused of a chat. Pure.
 */
const BILLED: ReadonlySet<string> = new Set(
  [
    [
      'service_tier',
      'speed',
      'inference_geo',
      'models',
      'route',
      'provider',
      'transforms',
      'plugins',
      'extra_body',
      'fallbacks',
      'generationConfig',
    ],
    ['web_search', 'web_search_options', 'search_parameters', 'tools', 'functions', 'prediction'],
    ['reasoning', 'thinking', 'thinking_budget', 'enable_thinking', 'chat_template_kwargs'],
    ['prompt_cache_retention', 'cache_control', 'store', 'background', 'modalities', 'audio', 'generate_audio'],
    ['num_frames', 'frames_per_second', 'fps', 'num_inference_steps', 'steps', 'upscale'],
  ].flat(),
)

/** Whether a field can change what an upstream bills. */
export const isBilled = (name: string): boolean => BILLED.has(name)

/** Why such a field is refused and who can change that, as the end of a sentence that begins with its name. */
export const NEEDS_ALLOW =
  'can change the price of a call: it is taken only where the operator of this gateway lists it in "allow", ' +
  'at an upstream of this model in the catalogue'
