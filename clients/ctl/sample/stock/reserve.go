// Package stock knows what lies on the shelves.
package stock

// Reserve takes n pieces off the shelf, or none.
func Reserve(shelf map[string]int, name string, n int) bool {
	if shelf[name] < n {
		return false
	}
	shelf[name] -= n
	return true
}
