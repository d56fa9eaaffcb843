// Package chart draws charts as SVG: lines, bars, points, areas, histograms and boxes, with axes of numbers, times or categories.
package chart
