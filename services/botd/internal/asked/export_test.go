package asked

// Distance lets tests compare the table with the definition.
var Distance = distance
