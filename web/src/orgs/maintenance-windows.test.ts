import { expect, test } from 'vitest'
import { windowTexts, windowsIn } from './maintenance-windows.ts'

test('windows are lines of days and times', () => {
  const windows = [
    { days: ['fri', 'sat'], start: '23:00', end: '24:00' },
    { start: '01:00', end: '02:00' },
  ]
  expect(windowsIn('fri, sat 23:00–24:00\n\n01:00-02:00\n')).toEqual(windows)
  expect(windowsIn(windowTexts(windowsIn('fri, sat 23:00–24:00\n01:00-02:00')).join('\n'))).toEqual(windows)
  expect(windowsIn(' \n')).toEqual([])
})

test('what is not a window is left to the server', () => {
  expect(windowsIn('at night')).toEqual([{ days: ['at'], start: 'night', end: '' }])
})
