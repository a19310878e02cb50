/**
 * Bars of days, stacked, on a canvas.
 */

/** Around the bars, in CSS pixels: the place of the axes' numbers at the left and below. */
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 8, 32, 62]

/** The share of a day's width that its bar has, and its largest width. */
const [BAR_SHARE, BAR_MOST] = [0.72, 48]

/** The least between two numbers of an axis. */
const [LINE_SPACE, DAY_SPACE] = [30, 60]

/** The steps, in days, at which labels may be. */
const DAY_STEPS = [1, 2, 5, 10, 15, 30]

/** What is drawn: `rows[m][d]` is the value of model m on day d. The first model is on top. */
export type Bars = {
  days: readonly string[]
  rows: readonly (readonly number[])[]
  /** By model. */
  colours: readonly string[]
  ink: { text: string; line: string }
  dayText: (day: string) => string
  valueText: (value: number) => string
}

/**
 * The values at which an axis up to `most` has its lines: whole multiples of 1, 2 or 5 times a power of ten, at most
 * `count` of them above 0.
 */
function linesUpTo(most: number, count: number): number[] {
  const least = most / count
  const power = 10 ** Math.floor(Math.log10(least))
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least)!,
  )
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step)
}

/** A chart in an element, as wide and as high as it. It is drawn in the frame that first shows the element. */
export class BarChart {
  private readonly bars: Bars
  private readonly canvas = document.createElement('canvas')
  private readonly sized: ResizeObserver
  private size = { width: 0, height: 0 }
  private marked: number | null = null
  private over = false

  constructor(place: HTMLElement, bars: Bars) {
    this.bars = bars
    // It has the current size of the frame; reading that of the element would lay out the page once more.
    this.sized = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect
      this.size = { width: Math.round(width), height: Math.round(height) }
      this.draw()
    })
    this.sized.observe(place)
    place.append(this.canvas)
    // A canvas keeps the letters that it was drawn with.
    if (document.fonts.status === 'loading') void document.fonts.ready.then(() => this.draw())
  }

  /** The day at a number of pixels from the left; null outside the bars. */
  dayAt(x: number): number | null {
    const day = Math.floor((x - LEFT) / this.slot)
    return day >= 0 && day < this.bars.days.length ? day : null
  }

  /** Marks a day. */
  mark(day: number | null): void {
    if (day === this.marked) return
    this.marked = day
    this.draw()
  }

  /** Removes it. */
  end(): void {
    this.over = true
    this.sized.disconnect()
    this.canvas.remove()
  }

  /** The width of a day. */
  private get slot(): number {
    return Math.max(1, this.size.width - LEFT - RIGHT) / this.bars.days.length
  }

  private draw(): void {
    const { width, height } = this.size
    const pen = this.canvas.getContext('2d')
    if (this.over || width === 0 || !pen) return
    const ratio = devicePixelRatio
    // Setting the size wipes it.
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) })
    pen.scale(ratio, ratio)
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`
    const { rows, days, ink } = this.bars
    const tops = days.map((_, day) => rows.reduce((sum, row) => sum + row[day]!, 0))
    const room = height - TOP - BOTTOM
    const most = Math.max(1, ...tops.map((top) => top * 1.08))
    const yOf = (value: number): number => TOP + room * (1 - value / most)
    if (this.marked !== null) {
      pen.fillStyle = ink.line
      pen.fillRect(LEFT + this.marked * this.slot, TOP, this.slot, room)
    }
    this.drawLines(pen, linesUpTo(most, Math.max(1, Math.floor(room / LINE_SPACE))), yOf)
    this.drawDays(pen)
    this.drawBars(pen, tops, yOf)
  }

  /** The lines of the values, and the values next to them. */
  private drawLines(pen: CanvasRenderingContext2D, lines: number[], yOf: (value: number) => number): void {
    const { ink, valueText } = this.bars
    pen.textAlign = 'right'
    pen.textBaseline = 'middle'
    for (const value of lines) {
      const y = Math.round(yOf(value))
      pen.fillStyle = ink.line
      pen.fillRect(LEFT, y, this.size.width - LEFT - RIGHT, 1)
      pen.fillStyle = ink.text
      pen.fillText(valueText(value), LEFT - 8, y)
    }
  }

  /** As many of the days as there is room for. */
  private drawDays(pen: CanvasRenderingContext2D): void {
    const { days, ink, dayText } = this.bars
    const step = DAY_STEPS.find((one) => one * this.slot >= DAY_SPACE) ?? days.length
    pen.textAlign = 'center'
    pen.textBaseline = 'top'
    pen.fillStyle = ink.text
    for (let day = 0; day < days.length; day += step)
      pen.fillText(dayText(days[day]!), LEFT + (day + 0.5) * this.slot, this.size.height - BOTTOM + 9)
  }

  /** Each bar reaches down to the axis, the tallest first, so that each covers the last but for its own part. */
  private drawBars(pen: CanvasRenderingContext2D, tops: number[], yOf: (value: number) => number): void {
    const width = Math.min(BAR_MOST, this.slot * BAR_SHARE)
    const ends = [...tops]
    this.bars.rows.forEach((row, model) => {
      pen.fillStyle = this.bars.colours[model]!
      pen.beginPath()
      row.forEach((value, day) => {
        const [x, y] = [LEFT + (day + 0.5) * this.slot - width / 2, yOf(ends[day]!)]
        const round = Math.min(width * 0.15, yOf(0) - y)
        if (value > 0) pen.roundRect(x, y, width, yOf(0) - y, [round, round, 0, 0])
        ends[day]! -= value
      })
      pen.fill()
    })
  }
}
