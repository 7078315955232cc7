import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { timeOfDay } from './times/times.ts'

interface LineChartProps {
  /** What it shows, in words. */
  readonly label: string
  /** Epoch seconds of each value. */
  readonly times: readonly number[]
  readonly lines: readonly { readonly name: string; readonly values: readonly (number | null)[] }[]
  readonly textOf: (value: number) => string
  /** The upper end of the scale where the values have one, such as 100 %. */
  readonly most?: number
  readonly zone: string | undefined
}

const HEIGHT_PX = 110
const AXIS_PX = 60
const TIMES_PX = 24
/** The colors of the lines, in their order. */
const colors = ['--busy', '--good'] as const

/** Values over time. The one under the pointer, else the last one, is written above. */
export function LineChart(props: LineChartProps) {
  // The colors of the page are read when it is drawn.
  return <Drawing key={useComputedColorScheme()} {...props} />
}

function Drawing({ label, times, lines, textOf, most, zone }: LineChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const [pointed, setPointed] = useState<number | null>(null)
  const latest = useRef({ textOf })
  useEffect(() => {
    latest.current = { textOf }
  })
  const names = lines.map(({ name }) => name).join('\n')
  const data = useRef<UPlot.AlignedData>([[]])
  const chart = useRef<UPlot | null>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const drawn = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { points: { size: 6 }, y: false, drag: { x: false, y: false } },
        tzDate: (seconds) =>
          UPlot.tzDate(new Date(seconds * 1000), zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone),
        scales: { y: { range: (_, _least, greatest) => [0, most ?? Math.max(1, greatest * 1.1)] } },
        axes: axesOf((value) => latest.current.textOf(value)),
        series: [
          {},
          ...names.split('\n').map((name, index) => ({
            label: name,
            stroke: colorOf(colors[index % colors.length] ?? '--busy'),
            width: 1.5,
          })),
        ],
        hooks: { setCursor: [({ cursor: { idx } }) => setPointed(idx ?? null)] },
      },
      data.current,
      element,
    )
    chart.current = drawn
    const watch = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      drawn.destroy()
      chart.current = null
    }
  }, [most, names, zone])
  useEffect(() => {
    data.current = [[...times], ...lines.map(({ values }) => [...values])]
    chart.current?.setData(data.current)
  }, [lines, times])
  return (
    <figure className="chart">
      <figcaption>
        {lines.map(({ name, values }, index) => {
          const at = pointed ?? values.findLastIndex((value) => value !== null)
          const value = values[at] ?? null
          return (
            <span key={name} style={{ color: `var(${colors[index % colors.length]})` }}>
              {lines.length > 1 && `${name} `}
              {value === null ? '–' : textOf(value)}
              {index === 0 && pointed !== null && (
                <span className="muted"> {timeOfDay(times[pointed] ?? 0, zone)}</span>
              )}
            </span>
          )
        })}
      </figcaption>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  )
}

function axesOf(textOf: (value: number) => string): UPlot.Axis[] {
  const shared = {
    stroke: colorOf('--muted'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
  }
  return [
    {
      ...shared,
      size: TIMES_PX,
      space: 60,
      values: [
        [3600 * 24, '{D} {MMM}', null, null, null, null, null, null, 1],
        [3600, '{HH}:{mm}', null, null, null, null, null, null, 1],
        [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
      ],
    },
    { ...shared, size: AXIS_PX, space: 34, values: (_, ticks) => ticks.map((value) => textOf(value)) },
  ]
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}
