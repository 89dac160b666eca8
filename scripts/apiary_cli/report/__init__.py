"""What people and CI read: report.html, prove.html, JUnit, and the text between a page's marks."""
