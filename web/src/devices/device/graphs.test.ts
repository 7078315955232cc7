import { expect, it } from 'vitest'
import { describeGraph, graphText, graphsOf } from './graphs.ts'

const series = {
  ...{ start: 0, end: 1200, interval: 600 },
  results: {
    cpu: [20, 40.4],
    memory: [null, null],
    num_clients: [3, 5],
    rx_bytes: [75_000_000, null],
    tx_bytes: [null, 0],
  },
}

it('has a graph for each value that was reported', () => {
  expect(graphsOf(series).map(({ title }) => title)).toEqual(['Processor', 'Clients', 'Traffic'])
})

it('shows traffic as bits in a second', () => {
  expect(graphsOf(series).at(-1)?.lines).toEqual([
    { name: 'In', values: [1_000_000, null] },
    { name: 'Out', values: [null, 0] },
  ])
})

it.each([
  [0, 'bits', '0 bit/s'],
  [999, 'bits', '999 bit/s'],
  [1_250_000, 'bits', '1.3 Mbit/s'],
  [31_000_000, 'bits', '31 Mbit/s'],
  [41.6, 'percent', '42 %'],
  [2.25, 'count', '2.3'],
] as const)('writes %d %s as %s', (value, unit, text) => {
  expect(graphText(value, unit)).toBe(text)
})

it('says in words what a graph shows', () => {
  expect(graphsOf(series).map(describeGraph)).toEqual([
    'Processor in the last day. Processor: 40 % at the end, from 20 % to 40 %',
    'Clients in the last day. Clients: 5 at the end, from 3 to 5',
    'Traffic in the last day. In: 1.0 Mbit/s at the end, from 1.0 Mbit/s to 1.0 Mbit/s. Out: 0 bit/s at the end, from 0 bit/s to 0 bit/s',
  ])
})
